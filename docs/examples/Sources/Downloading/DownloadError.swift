// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// Why there was no download.
public enum DownloadError: Error, Sendable, CustomStringConvertible {
    /// The URL names no host.
    case invalidURL(String)
    /// The host could not be reached for as long as the patience lasted.
    case offline(host: String)
    /// The state of the network could not be found out.
    case unknownNetwork(ReachabilityError)
    /// The last attempt failed.
    case failed(TransportError, attempts: Int)
    /// The task was cancelled.
    case cancelled

    /// One line for a person.
    public var description: String {
        switch self {
        case .invalidURL(let text): "\(text) is no URL with a host"
        case .offline(let host): "\(host) cannot be reached"
        case .unknownNetwork(let error): "\(error)"
        case .failed(let error, let attempts):
            "\(error), after \(attempts) attempt\(attempts == 1 ? "" : "s")"
        case .cancelled: "cancelled"
        }
    }
}

/// Why one attempt failed.
public enum TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server answered, but not with the document.
    case status(Int)
    /// No answer came, or not all of it.
    case connection(String)

    /// Whether the same request can succeed a little later.
    public var isTemporary: Bool {
        switch self {
        case .status(let status): status == 429 || status >= 500
        case .connection: true
        }
    }

    /// One line for a person.
    public var description: String {
        switch self {
        case .status(let status): "the server answered with status \(status)"
        case .connection(let reason): reason
        }
    }
}
