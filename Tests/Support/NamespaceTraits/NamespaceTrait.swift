// SPDX-License-Identifier: Apache-2.0

package import TestNamespaces
internal import TestSupport
package import Testing

/// The trait of a test in a network namespace: skips the test on a machine that lacks a capability, and runs the test
/// on ``WaitingThreads``, because it waits for the kernel and for programs.
package struct NamespaceTrait: TestTrait, SuiteTrait, TestScoping {
    fileprivate let condition: ConditionTrait

    package var isRecursive: Bool { true }

    package func prepare(for test: Test) async throws {
        try await condition.prepare(for: test)
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(WaitingThreads.shared) { try await function() }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test where the command is not beside the tests.
    package static var needsNetflags: Self {
        .enabled(
            if: ShellCommand.run("\(ShellCommand.netflags) --version").status == 0,
            "needs the netflags command beside the tests: build the whole package")
    }
}

extension Trait where Self == NamespaceTrait {
    /// Skips the test, with the kernel's message, on a machine without the capabilities.
    package static func needs(_ capabilities: Capability...) -> Self {
        let missing = capabilities.first { $0.blocker != nil }
        let name = missing.map { " with \($0.rawValue)" } ?? ""
        let blocker = missing.map { $0.blocker ?? "" } ?? Capability.namespaceBlocker
        return NamespaceTrait(
            condition: .enabled(if: blocker == nil, "no namespace\(name) here: \(blocker ?? "")"))
    }

    /// Skips the test on a machine without namespaces for ``LiveNetwork``, or without `ip`.
    package static var needsNetwork: Self {
        let blocker = LiveNetwork.blocker ?? (ShellCommand.has("ip") ? nil : "needs ip of iproute2")
        return NamespaceTrait(condition: .enabled(if: blocker == nil, "\(blocker ?? "")"))
    }
}
