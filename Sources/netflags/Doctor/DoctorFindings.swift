// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRoute
import RoutingModel

/// What `netflags doctor` found out.
///
/// Each thing is tried by itself: one refusal hides no other answer.
struct DoctorFindings {
    /// Why something could not be found out.
    struct Trouble: Error, Hashable {
        /// The errno; 0 for none.
        let number: Int32
        let message: String
    }

    /// A group of notifications, and whether it could be joined.
    struct Registration {
        let group: EventGroup
        /// `false` for a group that is newer than the kernel.
        let outcome: Result<Bool, Trouble>
    }

    /// The receive buffer that is asked for, in bytes: room for some ten thousand notifications.
    static let askedBuffer: UInt32 = 8 << 20

    let kernelRelease: String
    let libnlRelease = KernelDiagnosis.libnlRelease
    let namespace = NetworkNamespace.current?.inode
    let memberships: [Registration]
    /// The receive buffer of an event socket, in bytes, and whether net.core.rmem_max did not limit it.
    let receiveBuffer: Result<(effective: Int, isForced: Bool), Trouble>
    let checksStrictly: Result<Bool, Trouble>
    let routes: Result<RouteComparison, Trouble>
    let resolver: ResolverConfiguration
    /// The median time of a lookup, in nanoseconds.
    let lookup: Result<Int, Trouble>
    /// How many Wi-Fi interfaces nl80211 lists; `nil` for a kernel without it.
    let wireless: Result<Int?, Trouble>

    /// Finds everything out.
    static func now() -> DoctorFindings {
        DoctorFindings(
            kernelRelease: KernelRelease.current,
            memberships: EventGroup.monitored.map { group in
                Registration(
                    group: group,
                    outcome: attempt { () throws(RoutingFault) in try EventSocket().join(group) }
                )
            },
            receiveBuffer: attempt { () throws(RoutingFault) in
                try EventSocket().setBuffer(bytes: askedBuffer)
            },
            checksStrictly: attempt { () throws(RoutingFault) in try QuerySocket().isStrict },
            routes: attempt(RouteComparison.now),
            resolver: .current,
            lookup: LookupTime.median(),
            wireless: attempt { () throws(RoutingFault) in try DeviceFacts.wirelessIndexes()?.count }
        )
    }

    private static func attempt<Value>(
        _ question: () throws(RoutingFault) -> Value
    ) -> Result<Value, Trouble> {
        Result(catching: question).mapError(Trouble.init)
    }
}

extension DoctorFindings.Trouble {
    init(_ fault: RoutingFault) {
        let words = [fault.number > 0 ? systemMessage(fault.number) : "", fault.text].filter { !$0.isEmpty }
        let message = words.isEmpty ? "cannot \(fault.operation)" : words.joined(separator: ": ")
        self.init(number: fault.number, message: message)
    }
}

/// The kernel's release, as `uname -r` prints it.
enum KernelRelease {
    static var current: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown" }
        return withUnsafeBytes(of: &names.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// How long one lookup takes.
enum LookupTime {
    /// Enough that neither the first, which opens sockets, nor a disturbance counts.
    private static let rounds = 101

    /// The median of some lookups of the loopback address, in nanoseconds.
    static func median() -> Result<Int, DoctorFindings.Trouble> {
        Result { () throws(ReachabilityError) in
            let reachability = try NetworkReachability(address: .loopbackV4)
            let clock = ContinuousClock()
            var times: [Duration] = []
            for _ in 0..<rounds {
                let start = clock.now
                _ = try reachability.flags()
                times.append(clock.now - start)
            }
            return times.sorted()[rounds / 2].nanoseconds
        }
        .mapError { DoctorFindings.Trouble(number: $0.number, message: $0.description) }
    }
}
