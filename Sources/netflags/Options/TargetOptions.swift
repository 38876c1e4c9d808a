// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The targets of `watch` and `wait`.
struct TargetOptions: ParsableArguments {
    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Argument(
        help: ArgumentHelp(
            "A host name, an address, address%interface, default (the default path), or - for stdin.",
            valueName: "target"
        )
    )
    var targets: [String] = []

    func query(isReplay: Bool = false) throws(UsageError) -> TargetQuery {
        guard !targets.isEmpty else { throw .noTargets }
        return TargetQuery(targets: targets, options: try socket.options(isReplay: isReplay))
    }
}
