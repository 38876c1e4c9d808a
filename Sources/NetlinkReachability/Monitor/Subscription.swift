// SPDX-License-Identifier: Apache-2.0

/// A sink's place at the monitor.
///
/// Both faces, the callback and the sequence, are made of this.
struct Subscription: Sendable {
    let monitor: SharedMonitor
    let subject: MonitorSubject
    let membership: SharedMonitor.Registration
    /// What was found out before the start; `nil` for a name, which takes time.
    let firstFlags: ReachabilityFlags?

    /// Takes a place, and asks for the first flags on the calling thread, unless there is a name to resolve.
    ///
    /// - Throws: ``ReachabilityError`` when the monitor cannot run or the question fails; no place is taken
    ///   then.
    init(_ monitor: SharedMonitor, _ subject: MonitorSubject) throws(ReachabilityError) {
        self.monitor = monitor
        self.subject = subject
        do {
            // In this order no change gets lost: the monitor asks again as soon as it knows of the target.
            membership = try monitor.join()
        } catch {
            throw ReachabilityError(error)
        }
        guard subject.name == nil else {
            firstFlags = nil
            return
        }
        do {
            let evaluator = TargetEvaluator(facts: monitor.facts, options: subject.options)
            firstFlags = try evaluator.evaluateMonitored(subject.target, detail: .flags).flags
        } catch {
            monitor.leave(membership)
            throw error
        }
    }

    /// Has a sink told, from the first flags on.
    func begin(_ sink: any FlagsSink) {
        if let firstFlags { sink.offer(firstFlags) }
        membership.engine.post(.add(membership.id, subject, sink, firstFlags))
    }

    /// Gives the place back, once.
    func end() {
        monitor.leave(membership)
    }
}
