// SPDX-License-Identifier: Apache-2.0

internal import CoreFoundation
internal import Dispatch
internal import SystemSupport

// Each of these functions returns one of the `kSCStatus...` codes.

extension Handle {
    func schedule(on queue: DispatchQueue) -> Int {
        scheduling.withLock { number in
            guard place == nil else { return kSCStatusInvalidArgument }
            number += 1
            return begin(.queue(queue), number, monitorQueue: queue)
        }
    }

    func unscheduleFromQueue() -> Int {
        scheduling.withLock { _ in
            guard case .queue = place else { return kSCStatusInvalidArgument }
            end()
            return kSCStatusOK
        }
    }

    func schedule(on loop: CFRunLoop, _ mode: RunLoopModeName) -> Int {
        let spot = RunLoopSpot(loop: loop, mode: mode)
        return scheduling.withLock { number in
            switch place {
            case .queue:
                return kSCStatusInvalidArgument
            case .runLoops(let delivery):
                return delivery.add(spot) ? kSCStatusOK : kSCStatusInvalidArgument
            case nil:
                number += 1
                let delivery = RunLoopDelivery { [number] in self.call(number) }
                guard delivery.add(spot) else { return kSCStatusInvalidArgument }
                let queue = DispatchQueue(label: "SCNetworkReachability")
                let status = begin(.runLoops(delivery), number, monitorQueue: queue)
                if status != kSCStatusOK { delivery.invalidate() }
                return status
            }
        }
    }

    func unschedule(from loop: CFRunLoop, _ mode: RunLoopModeName) -> Int {
        let spot = RunLoopSpot(loop: loop, mode: mode)
        return scheduling.withLock { _ in
            guard case .runLoops(let delivery) = place, delivery.remove(spot) else {
                return kSCStatusInvalidArgument
            }
            if delivery.isNowhere {
                end()
                delivery.invalidate()
            }
            return kSCStatusOK
        }
    }

    private var place: Schedule.Place? {
        state.withLock { $0.schedule?.place }
    }

    /// Starts the monitor.
    ///
    /// Requires the lock `scheduling`.
    ///
    /// The monitor retains this object until the end. It evaluates the target itself and delivers each result in
    /// order, even if it equals the result found here.
    private func begin(_ place: Schedule.Place, _ number: UInt64, monitorQueue: DispatchQueue) -> Int {
        do {
            let first = try subject.flags()
            let owes = subject.owesFirstCallback
            state.withLock { state in
                state.schedule = Schedule(place, number: number, first: first, owesFirstCallback: owes)
            }
            let observation = try subject.observe(queue: monitorQueue) { self.update($0, number) }
            state.withLock { $0.schedule?.observation = observation }
            return kSCStatusOK
        } catch {
            state.withLock { $0.schedule = nil }
            return kSCStatusFailed
        }
    }

    /// Stops the monitor.
    ///
    /// Requires the lock `scheduling`.
    private func end() {
        // Released without the lock, and without waiting for a running call, which can be the caller of this
        // function.
        let old = state.withLock { $0.schedule.take() }
        withExtendedLifetime(old) {}
    }
}
