// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// The reason that a download failed.
public enum DownloadError: Error, Sendable, CustomStringConvertible {
    /// The URL names no host.
    case invalidURL(String)
    /// The host was not reachable within the timeout.
    case offline(host: String)
    /// The state of the network could not be determined.
    case unknownNetwork(ReachabilityError)
    /// The last attempt failed.
    case failed(TransportError, attempts: Int)
    /// The task was cancelled.
    case cancelled

    /// The error in one line.
    public var description: String {
        switch self {
        case .invalidURL(let text): "\(text) is not a URL with a host"
        case .offline(let host): "\(host) cannot be reached"
        case .unknownNetwork(let error): "\(error)"
        case .failed(let error, let attempts):
            "\(error), after \(attempts) attempt\(attempts == 1 ? "" : "s")"
        case .cancelled: "cancelled"
        }
    }
}

/// The reason that one attempt failed.
public enum TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server answered with a status other than success.
    case status(Int)
    /// The connection failed before the answer was complete.
    case connection(String)

    /// Whether the same request can succeed later.
    public var isTemporary: Bool {
        switch self {
        case .status(let status): status == 429 || status >= 500
        case .connection: true
        }
    }

    /// The error in one line.
    public var description: String {
        switch self {
        case .status(let status): "the server answered with status \(status)"
        case .connection(let reason): reason
        }
    }
}
