// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

extension NetworkSource {
    /// Reads the recording of `--replay`.
    ///
    /// - Parameter file: A file, a directory, or `-` for standard input, which messages call "stdin".
    /// - Returns: The recorded network; `nil` without a file.
    /// - Throws: ``ReachabilityError`` when the recording cannot be read.
    static func recorded(_ file: String?) throws(ReachabilityError) -> NetworkSource? {
        guard let file else { return nil }
        let routing = try Recording(operand: file).wholeRouting()
        return NetworkSource(routing: routing, resolver: SystemResolver.shared)
    }
}

extension Recording {
    /// The recording that an option or argument names: a file, a directory, or `-` for standard input.
    init(operand: String) {
        self = operand == "-" ? .standardInput : Recording(path: operand)
    }
}
