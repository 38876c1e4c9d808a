// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NetlinkReachability
import NetlinkRoute
internal import SystemSupport

/// `netflags wait` at work: a started handle for each target, and a count of those that cannot be reached.
struct WaitRun {
    /// A target and how it was given.
    struct Wanted {
        let text: String
        let target: ReachabilityTarget
    }

    /// What came of it.
    struct Outcome {
        let status: ExitStatus
        let targetCount: Int
        /// The targets that were not reachable at the end.
        let unreachable: [String]
        /// Why the host could not be watched; `nil` when it could.
        let error: String?
    }

    /// Which targets cannot be reached yet, by their places.
    private final class Missing: Sendable {
        let places: Locked<Set<Int>>
        let isNone = DispatchSemaphore(value: 0)

        init(count: Int) {
            places = Locked(Set(0..<count))
        }

        var areNone: Bool {
            places.withLock { $0.isEmpty }
        }

        func note(_ place: Int, isReachable: Bool) {
            let areAllThere = places.withLock { places in
                if isReachable { places.remove(place) } else { places.insert(place) }
                return places.isEmpty
            }
            if areAllThere { isNone.signal() }
        }
    }

    private let options: ReachabilityOptions
    private let timeout: Duration?

    init(_ options: ReachabilityOptions, timeout: Duration?) {
        self.options = options
        self.timeout = timeout
    }

    /// Waits until all can be reached at the same time.
    func run(_ wanted: [Wanted]) -> Outcome {
        let deadline = timeout.map { DispatchTime.now() + $0.interval } ?? .distantFuture
        let missing = Missing(count: wanted.count)
        var handles: [NetworkReachability] = []
        do {
            handles = try start(wanted, missing)
        } catch {
            return Outcome(
                status: .undetermined,
                targetCount: wanted.count,
                unreachable: [],
                error: "\(error)"
            )
        }
        // All handlers are called on one queue, in the order of the changes: when none is missing, none was.
        var (isInTime, areAllThere) = (true, wanted.isEmpty)
        while isInTime, !areAllThere {
            isInTime = missing.isNone.wait(timeout: deadline) == .success
            areAllThere = missing.areNone
        }
        // When the time is over some handlers can still be due: the handles know more, whatever the time was.
        let unreachable = areAllThere ? [] : handles.indices.filter { !handles[$0].isReachableNow }
        return Outcome(
            status: unreachable.isEmpty ? .success : .unreachable,
            targetCount: wanted.count,
            unreachable: unreachable.map { wanted[$0].text },
            error: nil
        )
    }

    private func start(_ wanted: [Wanted], _ missing: Missing) throws(ReachabilityError)
        -> [NetworkReachability]
    {
        let source = try NetworkSource.kernel()
        let queue = DispatchQueue(label: "netflags.wait")
        var handles: [NetworkReachability] = []
        for (place, wanted) in wanted.enumerated() {
            let handle = try NetworkReachability(target: wanted.target, options: options, source: source)
            try handle.start(queue: queue) { flags in
                missing.note(place, isReachable: isNetworkReachable(flags: flags))
            }
            handles.append(handle)
        }
        return handles
    }
}

extension WaitRun.Outcome {
    private static let namedAtMost = 5

    /// What to tell on standard error.
    var complaints: [String] {
        if let error { return [error] }
        let rest = unreachable.count - Self.namedAtMost
        return unreachable.prefix(Self.namedAtMost).map { "\($0) was not reachable in time" }
            + (rest > 0 ? ["nor were \(rest) more"] : [])
    }

    /// Writes one object, and the end of its line.
    func writeJSON(to json: inout ByteBuffer) {
        json.object { json in
            json.key("reached")
            json.value(status == .success)
            json.key("targets")
            json.value(targetCount)
            json.key("unreachable")
            json.array(unreachable)
            json.key("error")
            json.value(error)
            json.key("time")
            json.value(Timestamp.now.description)
        }
        json.append(UInt8(ascii: "\n"))
    }
}

extension NetworkReachability {
    /// Whether the last flags of a started handle tell so.
    fileprivate var isReachableNow: Bool {
        currentFlags.map(isNetworkReachable(flags:)) ?? false
    }
}

extension Duration {
    /// The same for Dispatch, which counts nanoseconds; a year at the most.
    fileprivate var interval: DispatchTimeInterval {
        .nanoseconds(Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000))
    }
}
