// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import NetlinkReachabilityTestKit

extension NetworkSource {
    /// Waits until all notifications so far have been handled, and delivered on a queue.
    func quiesce(_ queue: DispatchQueue) {
        // The monitor can have read notifications just before the request: later ones are handled when it is
        // idle for the second time.
        for _ in 0..<2 {
            let isIdle = DispatchSemaphore(value: 0)
            Task { [monitor] in
                await monitor.settle()
                isIdle.signal()
            }
            isIdle.wait()
        }
        // Each call can schedule the handler again.
        for _ in 0..<4 { queue.sync {} }
    }
}
