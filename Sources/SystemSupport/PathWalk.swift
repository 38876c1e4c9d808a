// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The names that the kernel looks up to find a file, through symbolic links.
package enum PathWalk {
    /// What a name in a folder leads to.
    package enum Entry<Folder> {
        /// A symbolic link with its destination.
        case link(String)
        /// A folder, or anything else that is no link: the next name is looked up in it.
        case found(Folder)
        /// Nothing, or nothing to follow: the walk ends here.
        case end
    }

    /// The most symbolic links in one lookup, as in the kernel (MAXSYMLINKS).
    package static let linkLimit = 40

    /// Walks to a file, name by name, as far as there is one.
    ///
    /// - Parameters:
    ///   - path: The file; a relative path begins at the root, too.
    ///   - root: The root folder.
    ///   - look: Says what a name in a folder leads to, and whether it is the last name. It is called for each name in
    ///     the order of the lookup.
    /// - Returns: Whether the last name was looked up.
    @discardableResult
    package static func walk<Folder>(
        to path: String, from root: Folder, _ look: (Folder, String, Bool) -> Entry<Folder>
    ) -> Bool {
        var rest = Array(names(of: path).reversed())
        var folders: [Folder] = []
        var links = 0
        while let name = rest.popLast() {
            if name == ".." { _ = folders.popLast() }
            if name == ".." || name == "." { continue }
            switch look(folders.last ?? root, String(name), rest.isEmpty) {
            case .end: return rest.isEmpty
            case .found(let folder): folders.append(folder)
            case .link(let destination):
                links += 1
                guard links <= linkLimit else { return false }
                if destination.hasPrefix("/") { folders = [] }
                rest += names(of: destination).reversed()
            }
        }
        return true
    }

    private static func names(of path: String) -> [Substring] {
        path.split(separator: "/")
    }

    /// The destination of a link.
    ///
    /// - Parameters:
    ///   - name: The link; empty for the descriptor itself.
    ///   - folder: The folder of the link.
    /// - Returns: The destination, or `nil` with the errno of readlink(2): EINVAL for what is no link.
    package static func destination(of name: String, in folder: Int32 = AT_FDCWD) -> String? {
        var destination = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = destination.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlinkat(folder, name, $0, text.count) } ?? -1
            }
        }
        return count < 0 ? nil : String(decoding: destination[..<count], as: UTF8.self)
    }
}
