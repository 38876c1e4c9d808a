// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Calls the body with the descriptor of a folder and each name in it, `.` and `..` too.
///
/// - Returns: Whether the folder can be read; if not, `errno` has the reason.
package func forEachEntry(of folder: String, _ body: (Int32, UnsafePointer<CChar>) -> Void) -> Bool {
    guard let stream = opendir(folder) else { return false }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { body(dirfd(stream), $0) }
        }
    }
    return true
}
