// SPDX-License-Identifier: Apache-2.0

/// The user namespace of this process.
package enum UserNamespace {
    /// Whether the user 0 is that of the machine, and not of a container with users of its own.
    ///
    /// What it cannot know: further namespaces around that of the container.
    package static let hasMachineRoot: Bool = {
        guard let map = FileBytes.text(of: "/proc/self/uid_map", upTo: 16_384) else { return true }
        return hasMachineRoot(map)
    }()

    /// The same of a text such as `/proc/self/uid_map`: lines of the first user here, outside, and their number.
    package static func hasMachineRoot(_ map: String) -> Bool {
        map.split(separator: "\n").contains { line in
            line.split(whereSeparator: \.isWhitespace).prefix(2).allSatisfy { $0 == "0" }
        }
    }
}
