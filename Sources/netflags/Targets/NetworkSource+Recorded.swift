// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRoute

extension NetworkSource {
    /// Reads the recording of `--replay`.
    ///
    /// - Parameter file: A path, or `-` for standard input, which messages call "stdin".
    /// - Returns: The recorded network; `nil` without a file.
    /// - Throws: ``ReachabilityError`` when the recording cannot be read.
    static func recorded(_ file: String?) throws(ReachabilityError) -> NetworkSource? {
        guard let file else { return nil }
        guard file == "-" else { return try .recording(path: file) }
        do {
            let routing = try RecordedRouting(RecordingReader(descriptor: STDIN_FILENO, path: "stdin"))
            return NetworkSource(routing: routing, resolver: SystemResolver.shared)
        } catch {
            throw ReachabilityError(
                .unreadableRecording, operation: "read the recording", message: error.description)
        }
    }
}
