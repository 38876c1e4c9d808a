// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `netflags check`, the default command.
struct Check: TargetCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Print the flags of each target (the default command).",
        usage: "netflags [check] [options] <target> ...",
        discussion: """
            The letters WR ctiCDld stand for isWWAN, reachable, connectionRequired, transientConnection, \
            interventionRequired, connectionOnTraffic, connectionOnDemand, isLocalAddress and isDirect; \
            - is a flag that is not set.

            A row has the target, the letters, whether packets can leave (yes, no or ?), the address where a target \
            is a name, the interface, the gateway and the reason.

            Options and targets can be mixed. To ask about a host with the name of a command, write: netflags \
            check NAME.

            Exit status: 0 every target is reachable, 1 at least one is not, 2 at least one could not be \
            evaluated, 64 wrong usage.
            """
    )

    @OptionGroup var options: CheckOptions

    var targets: [String] {
        get { options.targets }
        set { options.targets = newValue }
    }

    func perform() throws(UsageError) -> ExitStatus {
        try options.query().check()
    }
}
