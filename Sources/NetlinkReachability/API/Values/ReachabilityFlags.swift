// SPDX-License-Identifier: Apache-2.0

/// Whether and how this host can send to a target.
///
/// ```
/// name                  bit      Apple's constant (kSCNetworkReachabilityFlags…)  set on Linux when
/// transientConnection   0x00001  TransientConnection    the route uses a point-to-point or cellular link
/// reachable             0x00002  Reachable              the kernel has a route whose interface can send
/// connectionRequired    0x00004  ConnectionRequired     the interface is dormant, not dialled, or a tunnel that waits
/// connectionOnTraffic   0x00008  ConnectionOnTraffic    traffic makes the connection
/// interventionRequired  0x00010  InterventionRequired   never by the kernel
/// connectionOnDemand    0x00020  ConnectionOnDemand     never by the kernel
/// isLocalAddress        0x10000  IsLocalAddress         the target is an address of this host
/// isDirect              0x20000  IsDirect               packets use no gateway, and the link is not point-to-point
/// isWWAN                0x40000  IsWWAN                 the route uses a cellular modem
/// ```
///
/// The flags describe this host's routing, not the peer: *reachable* means that packets can leave towards the target,
/// not that the target answers. They describe an unmarked, unbound socket of the current user unless
/// ``ReachabilityOptions`` say otherwise.
///
/// Apple's counterpart is `SCNetworkReachabilityFlags`; the raw bits are the same.
public struct ReachabilityFlags: OptionSet, Hashable, Sendable {
    /// Apple's bits.
    public let rawValue: UInt32

    /// Creates a set from Apple's bits.
    ///
    /// Unknown bits are kept.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The route uses a link that is not permanent: a tunnel, a dial-up or a cellular link.
    public static let transientConnection = ReachabilityFlags(rawValue: 1 << 0)

    /// Packets can be sent to the target, perhaps after a connection is made: see
    /// ``isNetworkReachable(flags:)``.
    public static let reachable = ReachabilityFlags(rawValue: 1 << 1)

    /// A connection must be made first.
    public static let connectionRequired = ReachabilityFlags(rawValue: 1 << 2)

    /// Traffic to the target makes the connection.
    public static let connectionOnTraffic = ReachabilityFlags(rawValue: 1 << 3)

    /// A person must act, for example type a password, before the connection can be made.
    ///
    /// Never set from kernel facts: the kernel does not know it.
    public static let interventionRequired = ReachabilityFlags(rawValue: 1 << 4)

    /// A request of the program makes the connection.
    ///
    /// Never set from kernel facts: the kernel does not know it.
    public static let connectionOnDemand = ReachabilityFlags(rawValue: 1 << 5)

    /// The target is an address of this host.
    public static let isLocalAddress = ReachabilityFlags(rawValue: 1 << 16)

    /// The target is on a link of this host, or this host itself: packets take no gateway.
    public static let isDirect = ReachabilityFlags(rawValue: 1 << 17)

    /// The route uses a cellular modem.
    public static let isWWAN = ReachabilityFlags(rawValue: 1 << 18)
}

// MARK: - Text

extension ReachabilityFlags: CustomStringConvertible {
    /// Every flag once, in bit order, with its name and its letter.
    private static let named: [(flag: ReachabilityFlags, name: String, letter: Unicode.Scalar)] = [
        (.transientConnection, "transientConnection", "t"),
        (.reachable, "reachable", "R"),
        (.connectionRequired, "connectionRequired", "c"),
        (.connectionOnTraffic, "connectionOnTraffic", "C"),
        (.interventionRequired, "interventionRequired", "i"),
        (.connectionOnDemand, "connectionOnDemand", "D"),
        (.isLocalAddress, "isLocalAddress", "l"),
        (.isDirect, "isDirect", "d"),
        (.isWWAN, "isWWAN", "W"),
    ]

    /// The names of the flags that are set, in bit order.
    ///
    /// Bits without a name follow as one hexadecimal number.
    public var names: [String] {
        var names = Self.named.filter { contains($0.flag) }.map(\.name)
        if !unnamed.isEmpty { names.append(unnamed.hexadecimal) }
        return names
    }

    /// The flags as ten characters in the order `WR ctiCDld`, with `-` for a flag that is not set, such as
    /// `-R ------d`.
    ///
    /// W isWWAN, R reachable, c connectionRequired, t transientConnection, i interventionRequired,
    /// C connectionOnTraffic, D connectionOnDemand, l isLocalAddress, d isDirect. Bits without a name follow
    /// as a hexadecimal number.
    public var letters: String {
        // Ten bytes need no heap allocation in a String. Callers print hundreds of thousands of these.
        let letters = String(unsafeUninitializedCapacity: 10) { bytes in
            for (index, (flag, letter)) in Self.lettered.enumerated() {
                let isShown = flag.map(contains) ?? true
                bytes.initializeElement(at: index, to: isShown ? letter : UInt8(ascii: "-"))
            }
            return Self.lettered.count
        }
        return unnamed.isEmpty ? letters : letters + " " + unnamed.hexadecimal
    }

    /// The letters in the order in which they are printed; the space has no flag.
    private static let lettered = "WR ctiCDld".unicodeScalars.map { letter in
        (flag: named.first { $0.letter == letter }?.flag, letter: UInt8(ascii: letter))
    }

    /// The names in brackets, such as `[reachable, isDirect]`.
    public var description: String {
        "[" + names.joined(separator: ", ") + "]"
    }

    /// The bits that have no name.
    private var unnamed: ReachabilityFlags {
        subtracting(Self.allNamed)
    }

    private static let allNamed = named.reduce(into: ReachabilityFlags()) { $0.formUnion($1.flag) }

    private var hexadecimal: String {
        "0x" + String(rawValue, radix: 16)
    }
}

// Encoded as the raw bits.
extension ReachabilityFlags: Codable {}

// MARK: - The rule of Apple's examples

extension ReachabilityFlags {
    /// Whether a program can use the network for the target now, without help from a user.
    ///
    /// True when the flags contain ``reachable`` and either no connection is required, or the connection starts
    /// automatically, on traffic or on demand, and ``interventionRequired`` is not set.
    ///
    /// ```swift
    /// let flags = try await NetworkReachability(host: "example.com").flags()
    /// if flags.isNetworkReachable { upload() }
    /// ```
    ///
    /// The flags describe this host's routing: a target can be network reachable and still not answer.
    public var isNetworkReachable: Bool {
        let startsAutomatically = !isDisjoint(with: [.connectionOnTraffic, .connectionOnDemand])
        let needsUser = contains(.interventionRequired)
        return contains(.reachable)
            && (!contains(.connectionRequired) || (startsAutomatically && !needsUser))
    }
}

/// Returns whether a program can use the network for a target now, without help from a user.
///
/// The same as ``ReachabilityFlags/isNetworkReachable``. Programs for Apple's platforms usually contain a function
/// with this signature around `SCNetworkReachabilityGetFlags`; they can keep their calls to it.
///
/// - Parameter flags: The flags of the target.
/// - Returns: Whether packets can leave for the target.
public func isNetworkReachable(flags: ReachabilityFlags) -> Bool {
    flags.isNetworkReachable
}
