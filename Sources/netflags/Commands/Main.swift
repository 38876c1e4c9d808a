// SPDX-License-Identifier: Apache-2.0

import CCommandLine

/// The entry point of the process.
@main
enum Main {
    static func main() {
        StandardDescriptors.occupyClosed()
        // Not CommandLine.arguments, which is empty where /proc is not mounted.
        let arguments = (1..<max(1, ccl_argument_count())).map { String(cString: ccl_argument($0)) }
        CommandLineRunner.run(arguments).exit()
    }
}
