// SPDX-License-Identifier: Apache-2.0

/// The release of a Linux kernel, as `uname -r` prints it, without the patch level.
///
/// Kernels answer some queries differently; ``NetworkSnapshot/kernel`` selects the rules of one of them.
package struct KernelRelease: Hashable, Sendable {
    /// The first number: 6 in `6.1.0-56-amd64`.
    package var major: Int
    /// The second number: 1 in `6.1.0-56-amd64`.
    package var minor: Int

    /// Creates a release from its numbers.
    package init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Reads the release from `uname -r`, or from a line such as `Linux 6.1.0-56-amd64 x86_64`.
    ///
    /// - Returns: `nil` if no word of the text begins with two numbers and a dot between them, or if the text names
    ///   another operating system first.
    package init?(_ text: some StringProtocol) {
        var words = text.split(separator: " ")[...]
        if words.count > 1 {
            guard words.removeFirst() == "Linux" else { return nil }
        }
        guard let parts = words.first?.split(separator: ".", omittingEmptySubsequences: false),
            parts.count > 1, let major = Int(parts[0]), major >= 0,
            let minor = Int(parts[1].prefix { $0.isASCII && $0.isNumber })
        else { return nil }
        self.init(major, minor)
    }
}
