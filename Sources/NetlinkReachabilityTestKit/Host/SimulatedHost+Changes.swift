// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkRecording

extension SimulatedHost {
    /// Makes a change in the words of ip(8) or sysctl(8), such as a policy rule or a multipath route.
    ///
    /// ```swift
    /// try host.apply("rule add not fwmark 0xca6c table 51820 pref 100")
    /// ```
    ///
    /// Supports the same words as `netflags what-if`, with the same side effects.
    ///
    /// - Parameter change: The words, with or without `ip` before them.
    /// - Throws: ``SimulationError`` when the words are not supported, the kernel would refuse the change, or the
    ///   effect of the change is unknown.
    public mutating func apply(_ change: String) throws(SimulationError) {
        let actions: [HostChange.Action]
        do {
            actions = try HostChange(change).actions
        } catch {
            throw SimulationError(.refused, "\"\(change)\": \(error.message)")
        }
        for action in actions { try make(action) }
    }

    /// Makes a change with its side effects.
    mutating func make(_ action: HostChange.Action) throws(SimulationError) {
        try checkIsChangeable()
        do {
            try state.make(action)
        } catch {
            throw SimulationError(error, action)
        }
    }
}

extension SimulationError {
    /// The error of a change that the kernel refuses, or whose effect is unknown.
    fileprivate init(_ refusal: KernelRefusal, _ action: HostChange.Action) {
        let (exists, isUnknown): (Code, Code) =
            switch action {
            case .address: (.addressExists, .unknownAddress)
            case .route: (.routeExists, .unknownRoute)
            case .rule: (.ruleExists, .unknownRule)
            default: (.refused, .refused)
            }
        let code: Code =
            switch refusal.number {
            case EEXIST: exists
            case ENOENT, ESRCH, EADDRNOTAVAIL: isUnknown
            case ENODEV: .unknownInterface
            case ENETDOWN: .interfaceIsDown
            case ENETUNREACH, EHOSTUNREACH: .unreachableGateway
            default: .refused
            }
        self.init(code, refusal.message + (Self.advice[code].map { ": \($0)" } ?? ""))
    }

    private static let advice: [Code: String] = [
        .unknownInterface: "add it with addInterface",
        .interfaceIsDown: "set it up first",
        .addressExists: "remove it first, or add another one",
        .unknownAddress: "`interfaces` lists the existing ones",
        .routeExists: "remove it first, or use another metric",
        .unknownRoute: "`routes` lists the existing ones",
        .unreachableGateway: "add an address of its subnet first, or pass the interface and isOnLink: true",
        .ruleExists: "use another priority",
    ]
}
