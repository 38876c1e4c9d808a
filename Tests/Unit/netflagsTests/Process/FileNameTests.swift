// SPDX-License-Identifier: Apache-2.0

import SystemSupport
import TestSupport
import Testing

@testable import netflags

/// Names of files that are not UTF-8.
struct FileNameTests {
    /// Runs a script in a folder of its own, in which `$name` is `caf` and the byte E9, and `night` is a recording.
    private static func run(_ script: String) -> String {
        ShellCommand.run(
            """
            folder=$(mktemp -d) && cd "$folder" && cp '\(Night.path)' night
            name=$(printf 'caf\\351')
            netflags() { '\(NetflagsProcess.path)' "$@"; }
            ( \(script) ) 2>&1
            rm -r "$folder"
            """
        ).output
    }

    @Test(
        arguments: [
            [], [0x61], Array("caf\u{E9} e\u{301}\u{FFFD}\u{10F6FF}\u{E000}".utf8), [0x63, 0xE9],
            [0xE9, 0xC3, 0xA9],
            [0xC3, 0xA9, 0xC3], [0x80, 0xFF, 0xF4, 0x90, 0x80, 0x80], [0xED, 0xA0, 0x80],
            Array("\u{10F7E9}".utf8),
            [0xF4, 0x8F, 0x9F], Array("a\u{10F780}\u{10F7FF}b".utf8) + [0xFF],
        ] as [[UInt8]]) func `a name has one text, which gives its bytes again`(bytes: [UInt8])
    {
        let text = String(fileName: bytes)
        #expect(text.fileName.dropLast().map { UInt8(bitPattern: $0) } == bytes && text.fileName.last == 0)
    }

    @Test func `a name that is UTF-8 is its own text`() {
        let name = "caf\u{E9} e\u{301}\u{FFFD}\u{E000}\u{10FFFD}"
        #expect(String(fileName: Array(name.utf8)).utf8.elementsEqual(name.utf8))
        #expect(String(fileName: Array("\u{10F7E9}".utf8)) != String(fileName: [0xE9]))
    }

    @Test func `a text for people and a JSON string have a byte that is not UTF-8 as an escape`() {
        let name = String(fileName: [0x63, 0xE9, 0x0A] + Array("\u{E9}\u{1F600}\u{10FFFD}".utf8))
        var buffer = ByteBuffer()
        let columns = buffer.append(printable: "\(name)")
        #expect(String(decoding: buffer.bytes, as: UTF8.self) == "c\\xE9\u{FFFD}\u{E9}\u{1F600}\u{10FFFD}")
        #expect(columns == "c\\xE9\u{FFFD}\u{E9}\u{1F600}\u{10FFFD}".columns)
        buffer.removeAll()
        name.writeJSON(to: &buffer)
        #expect(
            String(decoding: buffer.bytes, as: UTF8.self) == "\"c\\\\xE9\\n\u{E9}\u{1F600}\u{10FFFD}\"")
    }

    @Test func `record writes the file, and the directory, of a name that is not UTF-8`() {
        let output = Self.run(
            """
            netflags record "$name.rtnl" >out 2>&1 || cat out
            timeout --preserve-status -s INT 2 \
            '\(NetflagsProcess.path)' record "$name" --keep 64M >out 2>&1 || cat out
            test -s "$name.rtnl" && test -s "$name/netflags-0000000001.rtnl" && echo written
            rm -r "$name.rtnl" "$name" && ls
            """)
        #expect(output == "written\nnight\nout\n")
    }

    @Test(arguments: [
        "cp night \"$name\"; netflags --replay \"$name\" default",
        "mkdir \"$name\"; cp night \"$name/netflags-0000000001.rtnl\"; netflags --replay \"$name\" default",
        "mkdir \"$name\"; mv night \"$name\"; netflags --replay \"$name/night\" default",
        "mkdir \"$name\"; mv night \"$name\"; cd \"$name\"; netflags --replay night default",
    ]) func `a recording is read from a name that is not UTF-8`(script: String) {
        let expected = Self.run("netflags --replay night default")
        #expect(expected.contains("default") && Self.run(script) == expected)
    }

    @Test func `changes and expectations are read from a name that is not UTF-8`() {
        let output = Self.run(
            """
            echo link set eth0 down >"$name"; netflags what-if --replay night --batch "$name" -- default >read
            netflags what-if --replay night 'link set eth0 down' -- default >given; cmp read given && test -s read
            echo default reachable >"$name"; netflags assert "$name" --replay night && echo holds
            """)
        #expect(output.hasSuffix("holds\n") && !output.contains("differ"), "\(output)")
    }

    @Test func `the recordings of hosts have names that are not UTF-8`() {
        let preparation =
            "mkdir hosts; cp night \"hosts/$name.rtnl\"; mv night \"hosts/caf\u{E9}.rtnl\"; mv hosts \"$name\""
        let change = "--replay-hosts \"$name\" 'link set eth0 down' -- default"
        let text = Self.run("\(preparation); netflags what-if \(change)")
        #expect(
            text.contains("caf\\xE9/caf\\xE9.rtnl:\n") && text.contains("caf\\xE9/caf\u{E9}.rtnl:\n"),
            "\(text)")
        #expect(text.contains("2 recordings: ") && text.contains(" 0 could not be evaluated"), "\(text)")
        let rows = Self.run("\(preparation); netflags what-if --json \(change)").split(separator: "\n")
            .compactMap { JSONValue(String($0))?["recording"]?.string }
        #expect(Set(rows) == ["caf\\xE9/caf\\xE9.rtnl", "caf\\xE9/caf\u{E9}.rtnl"])
    }

    @Test(arguments: ["$name", "$name/file"]) func `files are written to a name that is not UTF-8`(
        file: String
    ) {
        let output = Self.run(
            """
            [ '\(file)' = '$name' ] || mkdir "$name"
            netflags timeline night default --svg "\(file).svg" >out 2>&1; test $? -le 1 || cat out
            netflags timeline night default --json --cursor-file "\(file).cursor" >first 2>&1
            netflags timeline night default --json --cursor-file "\(file).cursor" >second 2>&1
            head -c 4 "\(file).svg"; echo; head -n 1 "\(file).cursor"
            test -s first && test "$(wc -l <first)" -gt "$(wc -l <second)" && echo goes on
            """)
        #expect(output.hasSuffix("\nnetflags-timeline 1\ngoes on\n") && output.hasPrefix("<"), "\(output)")
    }

    @Test func `a file is written in a working directory whose name is not UTF-8`() {
        let output = Self.run(
            """
            mkdir "$name"; cd "$name"
            netflags record file >/dev/null && netflags timeline ../night default --svg svg >/dev/null
            ls
            """)
        #expect(output == "file\nsvg\n")
    }

    @Test func `an error has the name with escapes`() {
        #expect(Self.run("netflags --replay \"$name.rtnl\" default").contains("caf\\xE9.rtnl: "))
        #expect(Self.run("netflags \"$name\" --replay night").contains("caf\\xE9"))
    }

    @Test func `the command of --exec has its bytes`() {
        let output = Self.run(
            "netflags watch --replay night --exec \"touch $name\" default >out; ls \"$name\" | od -An -tx1")
        #expect(output.contains("63 61 66 e9"), "\(output)")
    }

    @Test func `a picture has the name of its recording with escapes`() {
        let output = Self.run("mv night \"$name\"; netflags timeline \"$name\" default --svg -")
        #expect(output.contains("caf\\xE9"), "\(output)")
    }
}
