// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
internal import SystemSupport

/// Turns names into addresses.
package protocol HostResolver: Sendable {
    /// Resolves a name within a time.
    ///
    /// - Returns: The resolution; a name that fails to resolve is one too.
    /// - Throws: A fault if the resolver cannot run. It is not a result about the name.
    func resolve(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration
    ) throws(RoutingFault) -> HostResolution

    /// Begins to resolve a name for a monitor, and returns at once.
    ///
    /// The monitor stops waiting a little after the time-out, so a resolver needs no timer of its own.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - families: The families of the addresses.
    ///   - timeout: The longest time.
    ///   - work: Counts the resolution as in flight; a resolver that hangs on purpose subtracts it meanwhile.
    ///   - completion: Called once with the result, on any thread.
    func begin(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (HostResolution) -> Void
    )
}

extension HostResolver {
    /// Resolves the name on a thread of its own.
    package func begin(
        _ name: String,
        families: ReachabilityOptions.Families,
        timeout: Duration,
        countedBy work: InFlightCounter?,
        completion: @escaping @Sendable (HostResolution) -> Void
    ) {
        let hasStarted = BackgroundThread.start("netlink-resolve") {
            do throws(RoutingFault) {
                completion(try resolve(name, families: families, timeout: timeout))
            } catch {
                completion(.failed(error))
            }
        }
        if !hasStarted { completion(.failed("no thread can be started for the resolver")) }
    }
}

extension HostResolution {
    /// The result of a resolver that could not run.
    static func failed(_ fault: RoutingFault) -> HostResolution {
        .failed(fault.text.isEmpty ? ReachabilityError(fault).description : fault.text)
    }
}

/// The resolution of a name.
public enum HostResolution: Hashable, Sendable {
    /// The addresses in the resolver's order, at least one.
    case addresses([IPAddress])
    /// The name does not exist, or has no address of the families asked for.
    case notFound
    /// A temporary failure: a server failed or could not be reached.
    case failed(String)
    /// The timeout came first.
    case timedOut
}
