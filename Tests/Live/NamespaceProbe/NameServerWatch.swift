// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import SystemSupport

/// The observed path of the live kernel, on the clock of the host: whether its path reaches a name server.
struct NameServerWatch {
    /// How long a change may take.
    private static let limit = DispatchTimeInterval.seconds(1)

    private let observation: NetworkObservation<NetworkPath>
    private let reachesServer = Locked<Bool?>(nil)
    private let isCalled = DispatchSemaphore(value: 0)

    init() throws {
        observation = try NetworkSource.kernel.observe(.path()) { [reachesServer, isCalled] result in
            guard case .success(let path) = result else { return }
            reachesServer.withLock { $0 = path.supportsDNS }
            isCalled.signal()
        }
    }

    /// Waits until the handler was called with such a path.
    ///
    /// - Returns: Whether it was within a second.
    func waits(for expected: Bool) -> Bool {
        let deadline = DispatchTime.now() + Self.limit
        while reachesServer.withLock({ $0 }) != expected {
            if isCalled.wait(timeout: deadline) == .timedOut { return false }
        }
        return true
    }
}
