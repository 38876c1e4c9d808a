// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What `netflags record` wrote: the routing state of a host, and how it changed.
///
/// ```swift
/// let recording = Recording(path: "/var/lib/netflags")      // a file or a directory
/// var replay = try recording.replay(of: [.reports(), .reports(on: .host("192.0.2.7"))])
/// while let step = try replay.next() {
///     guard case .change(let change) = step else { continue }
///     print(change.time, change.result, change.causes.first?.description ?? "")
/// }
/// let before = try recording.source(at: replay.end)          // ask about the network of any instant
/// ```
///
/// A recording is read as a stream: memory depends on the size of the network, not on the length of the recording.
/// Each function reads it from its start, or from the file of a directory where its part begins. A pipe can be read
/// once.
///
/// A file that is damaged, or ends inside a message, is read up to there. A file without a whole dump before its damage
/// cannot be read; in a directory it is passed over. What is not recorded is not guessed: such spans have a ``Mark``,
/// and queries that the recording does not decide fail with `ReachabilityError.Code.undecided`.
public struct Recording: Hashable, Sendable {
    /// The path, or the name in errors.
    let path: String
    /// The open descriptor to read from; `nil` to open the path.
    let descriptor: Int32?

    /// A file or a directory of `netflags record`.
    ///
    /// A file can also be one of `rtmon` or `ip monitor file`, or a packet capture of an nlmon device in pcap format.
    ///
    /// - Parameter path: The file or directory; nothing is opened yet.
    public init(path: String) {
        (self.path, descriptor) = (path, nil)
    }

    /// A recording that comes from an open descriptor, such as a pipe, and can be read once.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which stays the caller's and open.
    ///   - name: The name of the recording in errors.
    public init(descriptor: Int32, name: String) {
        (path, self.descriptor) = (name, descriptor)
    }

    /// The recording on standard input, which can be read once.
    public static let standardInput = Recording(descriptor: STDIN_FILENO, name: "stdin")
}
