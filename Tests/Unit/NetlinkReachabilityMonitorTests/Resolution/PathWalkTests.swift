// SPDX-License-Identifier: Apache-2.0

import SystemSupport
import Testing

/// The way to a file in a file system of the test.
struct PathWalkTests {
    /// The paths of the names that are looked up, where links lead to destinations and other names exist or not.
    private func walk(
        to path: String, links: [String: String] = [:], missing: Set<String> = []
    ) -> [String] {
        var paths: [String] = []
        PathWalk.walk(to: path, from: "") { folder, name, _ in
            let path = "\(folder)/\(name)"
            paths.append(path)
            if missing.contains(path) { return .end }
            return links[path].map { .link($0) } ?? .found(path)
        }
        return paths
    }

    @Test(
        arguments: [
            ("/etc/hosts", ["/etc", "/etc/hosts"]), ("/", []), ("//etc//hosts/", ["/etc", "/etc/hosts"]),
            ("/etc/./x/../hosts", ["/etc", "/etc/x", "/etc/hosts"]), ("/../etc", ["/etc"]),
        ]
    )
    func `each name is looked up in the folder before it`(path: String, expected: [String]) {
        #expect(walk(to: path) == expected)
    }

    @Test func `a combining character begins a name`() {
        #expect(walk(to: "/etc/\u{301}/\u{301}x") == ["/etc", "/etc/\u{301}", "/etc/\u{301}/\u{301}x"])
        #expect(walk(to: "/a/b", links: ["/a": "/\u{301}"]) == ["/a", "/\u{301}", "/\u{301}/b"])
    }

    @Test func `a link continues at its destination, from the root or from its folder`() {
        let links = [
            "/etc/resolv.conf": "../run/now/stub.conf", "/run/now": "/run/second",
            "/run/second/stub.conf": "real.conf",
        ]
        #expect(
            walk(to: "/etc/resolv.conf", links: links) == [
                "/etc", "/etc/resolv.conf", "/run", "/run/now", "/run", "/run/second",
                "/run/second/stub.conf",
                "/run/second/real.conf",
            ])
    }

    @Test func `the parent of a linked folder is that of its destination`() {
        #expect(
            walk(to: "/a/../file", links: ["/a": "/b/c"]) == ["/a", "/b", "/b/c", "/b/file"])
    }

    @Test func `the way ends at the first name that is missing`() {
        let links = ["/etc/resolv.conf": "/run/systemd/resolve/stub.conf"]
        #expect(
            walk(to: "/etc/resolv.conf", links: links, missing: ["/run/systemd"]) == [
                "/etc", "/etc/resolv.conf", "/run", "/run/systemd",
            ])
    }

    @Test func `links that lead in a circle end after as many as the kernel follows`() {
        #expect(walk(to: "/a", links: ["/a": "b", "/b": "a"]).count == 41)
        // Each link doubles the names that are left.
        #expect(walk(to: "/a", links: ["/a": "a/a"]).count == 41)
    }

    @Test func `a way is complete when its last name was looked up, also in vain`() {
        func isComplete(_ path: String) -> Bool {
            PathWalk.walk(to: path, from: "") { _, name, _ in name == "none" ? .end : .found(name) }
        }
        #expect(isComplete("/a/b") && isComplete("/a/none") && isComplete("/"))
        #expect(!isComplete("/none/b"))
        #expect(!PathWalk.walk(to: "/a", from: "") { _, _, _ in .link("a") })
    }

    @Test func `a destination is that of the file system`() {
        #expect(PathWalk.destination(of: "/proc/mounts") == "self/mounts")
        #expect(PathWalk.destination(of: "/proc") == nil)
    }
}
