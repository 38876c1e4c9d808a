// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The interfaces of a network by index, and which of them are above others.
///
/// It finds the interfaces on one in the time that they take, however many others there are.
package struct LinkTable: Hashable, Sendable {
    private var links: [UInt32: Link] = [:]
    /// The interfaces whose ``Link/lowerHere`` is an interface.
    private var uppers: [UInt32: Set<UInt32>] = [:]
    /// The interfaces whose ``Link/master`` is an interface.
    private var ports: [UInt32: Set<UInt32>] = [:]

    /// The indexes, in no particular order.
    package var keys: some Collection<UInt32> { links.keys }
    /// The interfaces, in no particular order.
    package var values: some Collection<Link> { links.values }
    /// The interfaces by index.
    package var byIndex: [UInt32: Link] { links }

    /// The interface of an index.
    package subscript(_ index: UInt32) -> Link? {
        get { links[index] }
        set {
            let old = links[index]
            if old?.lowerHere != newValue?.lowerHere {
                if let lower = old?.lowerHere { uppers.remove(index, at: lower) }
                if let lower = newValue?.lowerHere { uppers[lower, default: []].insert(index) }
            }
            if old?.master != newValue?.master {
                if let master = old?.master { ports.remove(index, at: master) }
                if let master = newValue?.master { ports[master, default: []].insert(index) }
            }
            links[index] = newValue
        }
    }

    /// The interfaces on one, such as its VLANs, by index.
    func uppers(of index: UInt32) -> [UInt32] {
        uppers[index]?.sorted() ?? []
    }

    /// The interfaces that have one as their master, in no particular order.
    package func ports(of index: UInt32) -> Set<UInt32> {
        ports[index] ?? []
    }

    /// A value of each interface by index.
    package func mapValues<Value>(_ transform: (Link) -> Value) -> [UInt32: Value] {
        links.mapValues(transform)
    }
}
