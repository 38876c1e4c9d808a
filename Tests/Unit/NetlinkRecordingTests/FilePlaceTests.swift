// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport
import TestSupport
import Testing

/// The place of a file in a folder of this user, with folders of other permissions in it.
final class FilePlaceTests {
    private let folder: String

    init() throws {
        var template = Array("/tmp/file-place-XXXXXX".utf8CString)
        folder = String(cString: try #require(mkdtemp(&template)))
        try run(
            "mkdir own all sticky; chmod 0777 all; chmod 1777 sticky; echo old >own/file; chmod 0640 own/file"
        )
    }

    deinit {
        _ = ShellCommand.run("rm -r '\(folder)'")
    }

    private func run(_ script: String) throws {
        try ShellCommand.check("cd '\(folder)'; \(script)")
    }

    /// Empties a file, and writes to it.
    ///
    /// - Returns: The errno, or 0.
    private func write(_ path: String) -> Int32 {
        do throws(SystemCallError) {
            let descriptor = try FilePlace("\(folder)/\(path)", followsLast: true).openEmptied().descriptor
            defer { close(descriptor) }
            return Glibc.write(descriptor, "new\n", 4) == 4 ? 0 : errno
        } catch {
            return error.number
        }
    }

    private func content(_ path: String) -> String {
        ShellCommand.run("cat '\(folder)/\(path)'").output
    }

    @Test(arguments: ["own/file", "own/new", "own/../own/./file", "all/new", "sticky/new"])
    func `a file is created, or emptied`(path: String) {
        #expect(write(path) == 0)
        #expect(content(path) == "new\n")
    }

    @Test func `a new file is its owner's alone, and one that exists keeps its mode`() throws {
        #expect(write("own/new") == 0 && write("own/file") == 0)
        #expect(ShellCommand.run("cd '\(folder)'; stat --format=%a own/new own/file").output == "600\n640\n")
    }

    @Test func `a relative path begins at the working directory`() throws {
        let place = try FilePlace("file", followsLast: false)
        #expect(place.name == "file")
    }

    @Test func `a folder is no file, nor is what is below one that is missing`() {
        #expect(write("own") == EISDIR && write("own/file/..") == EISDIR && write("own/.") == EISDIR)
        #expect(write("none/file") == ENOENT)
        #expect(write("own/file/x") == ENOTDIR)
    }

    @Test func `a link of a folder that only its owner can write to is followed, on the way and at the end`()
        throws
    {
        try run("ln -s own way; ln -s ../own/file own/link; ln -s none own/dangling")
        for path in ["way/file", "own/link"] {
            #expect(write(path) == 0)
            #expect(content("own/file") == "new\n")
            try run("echo old >own/file")
        }
        #expect(write("way/dangling") == 0)
        #expect(content("own/none") == "new\n")
    }

    @Test func `a link in a folder that others can write to is not followed`() throws {
        try run("ln -s ../own all/way; ln -s ../own/file all/link; ln -s all/way way")
        for path in ["all/way/file", "all/link", "way/file", "way/new"] { #expect(write(path) == ELOOP) }
        #expect(content("own/file") == "old\n")
    }

    @Test func `a link of this user in a sticky folder is followed`() throws {
        try run("ln -s ../own/file sticky/link")
        #expect(write("sticky/link") == 0)
        #expect(content("own/file") == "new\n")
    }

    @Test(.enabled(if: geteuid() == 0, "a link of another user needs root"))
    func `a link of another user in a sticky folder is not followed, nor is his file emptied`() throws {
        try run("ln -s ../own/file sticky/link; echo old >sticky/file; chown -h 65534 sticky/*")
        #expect(write("sticky/link") == ELOOP)
        #expect(content("own/file") == "old\n")
        #expect([EPERM, EACCES].contains(write("sticky/file")))
        #expect(content("sticky/file") == "old\n")
    }

    @Test func `a file with a second name is not emptied where others can have put it`() throws {
        try run("ln own/file all/file; ln own/file own/second")
        #expect(write("all/file") == EPERM)
        #expect(content("own/file") == "old\n")
        #expect(write("own/second") == 0)
    }

    @Test func `links in a circle are an error`() throws {
        try run("ln -s b own/a; ln -s a own/b")
        #expect(write("own/a") == ELOOP)
    }

    @Test func `a file that is open is written through its descriptor`() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let descriptor = try FilePlace("/dev/fd/\(ends[1])", followsLast: true).openEmptied().descriptor
        #expect(Glibc.write(descriptor, "x", 1) == 1)
        close(descriptor)
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 1 && byte == UInt8(ascii: "x"))
    }
}
