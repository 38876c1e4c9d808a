// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The resources of the process, from /proc.
package enum ProcessResources {
    /// The open descriptors whose target has a prefix, such as `anon_inode:inotify`.
    package static func descriptors(beginning prefix: String) -> [Int32] {
        names(in: "/proc/self/fd").compactMap { Int32($0) }.filter { number in
            var buffer = [CChar](repeating: 0, count: 256)
            let length = readlink("/proc/self/fd/\(number)", &buffer, buffer.count)
            guard length > 0 else { return false }
            let target = String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
            return target.hasPrefix(prefix)
        }
    }

    /// The number of threads of the process with a name.
    package static func threads(named name: String) -> Int {
        names(in: "/proc/self/task").count { contents("/proc/self/task/\($0)/comm") == name + "\n" }
    }

    /// The name of the calling thread.
    package static var threadName: String {
        String(contents("/proc/thread-self/comm").dropLast())
    }

    /// Whether the program was built with a sanitizer.
    package static var isSanitized: Bool {
        dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
    }

    /// The process's memory in use, in bytes.
    package static var residentBytes: Int {
        let pages = contents("/proc/self/statm").split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (pages ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The names in a folder, sorted.
    package static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func contents(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
