// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// The program of root in a folder in which another user turns links and renames, while it runs.
@Suite(
    .enabled(if: geteuid() == 0, "another user needs root"),
    .enabled(if: ShellCommand.has("setpriv"), "needs setpriv of util-linux")
)
final class OtherUserTests {
    /// Has the folder `his` of the other user, and `roots` with the file `victim`.
    private let folder: String
    private static let tries = Rounds.of(40)

    init() throws {
        folder = String(ShellCommand.run("mktemp -d").output.dropLast())
        try run(
            """
            chmod 0755 .; mkdir his roots; chown 65534 his; mkdir his/real; chown 65534 his/real
            echo secret >roots/victim; chmod 0600 roots/victim
            """)
    }

    deinit {
        _ = ShellCommand.run("rm -r '\(folder)'")
    }

    private func run(_ script: String) throws {
        try ShellCommand.check("cd '\(folder)'; \(script)")
    }

    /// Runs the program often while the other user repeats a script in his folder.
    private func run(_ arguments: [String], while script: String) throws {
        try write("cd '\(folder)/his'; while [ ! -e ../roots/end ]; do \(script); done", to: "attack")
        let attack = ShellCommand(
            "setpriv --reuid=65534 --regid=65534 --clear-groups sh '\(folder)/attack' 2>/dev/null")
        for _ in 0..<Self.tries { _ = try NetflagsProcess.run(arguments) }
        try run("touch roots/end")
        _ = attack.finish()
    }

    private func write(_ text: String, to name: String) throws {
        let file = try #require(fopen("\(folder)/\(name)", "w"))
        fputs(text, file)
        fclose(file)
    }

    /// What is in root's folder, with the content and the mode of the victim.
    private var roots: String {
        ShellCommand.run("cd '\(folder)/roots'; ls -A; cat victim; stat --format=%a victim").output
    }

    private func commands(writing path: String) -> [[String]] {
        [
            ["record", "\(folder)/his/\(path)"],
            ["timeline", "--svg", "\(folder)/his/\(path)", Night.path, "default"],
            ["record", "--keep", "1M", "--duration", "0", "\(folder)/his/\(path)"],
        ]
    }

    @Test(arguments: 0..<3) func `a link in the place of the file is not followed`(command: Int) throws {
        try run(
            commands(writing: "file")[command],
            while:
                "ln -s ../roots/victim file; mv file gone; for new in file.*; do mv $new gone; ln -s ../roots/victim $new; done"
        )
        #expect(roots == "end\nvictim\nsecret\n600\n")
    }

    @Test(arguments: 0..<3) func `a folder above that is turned leads nowhere else`(command: Int) throws {
        try run(
            commands(writing: "way/file")[command],
            while: "ln -sfn ../roots new; mv -T new way; rm way; ln -sfn real new; mv -T new way; rm way")
        #expect(roots == "end\nvictim\nsecret\n600\n")
    }

    @Test(arguments: 0..<3) func `a folder above that is exchanged for a link leads nowhere else`(
        command: Int
    ) throws {
        try run(
            commands(writing: "real/file")[command],
            while: "mv real away; ln -s ../roots real; rm real; mv away real")
        #expect(roots == "end\nvictim\nsecret\n600\n")
    }
}
