// SPDX-License-Identifier: Apache-2.0

/// A mistake in a test's script: something that no network can do.
///
/// ```swift
/// do {
///     try network.change { host in try host.addAddress("192.0.2.2", to: "eth0") }
/// } catch let error as SimulationError {
///     print(error)   // "192.0.2.2" is no address with a prefix length: write it as "192.0.2.2/24"
/// }
/// ```
///
/// It is never an answer about the network: those come from `NetworkReachability`.
public struct SimulationError: Error, Hashable, Sendable {
    /// What is wrong, for programs.
    ///
    /// New codes can come: keep a default branch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case unknownInterface, interfaceExists, invalidName
            case invalidAddress, invalidPrefix, unknownAddress, addressExists
            case unknownRoute, routeExists, unreachableGateway, interfaceIsDown
            case unknownRule, ruleExists
            case invalidLifetime, failedStep, recordedNetwork
            case notSettled, unreadableRecording
        }

        private let value: Value

        /// There is no interface of that name.
        public static let unknownInterface = Code(value: .unknownInterface)
        /// There is an interface of that name already.
        public static let interfaceExists = Code(value: .interfaceExists)
        /// No interface can be called that.
        public static let invalidName = Code(value: .invalidName)
        /// The text is no address, or not one that goes here.
        public static let invalidAddress = Code(value: .invalidAddress)
        /// The text is no prefix, or an address without a prefix length.
        public static let invalidPrefix = Code(value: .invalidPrefix)
        /// The interface does not have that address.
        public static let unknownAddress = Code(value: .unknownAddress)
        /// The interface has that address already.
        public static let addressExists = Code(value: .addressExists)
        /// There is no such route.
        public static let unknownRoute = Code(value: .unknownRoute)
        /// There is a route with that destination and metric in the table already.
        public static let routeExists = Code(value: .routeExists)
        /// No interface has the gateway on its link.
        public static let unreachableGateway = Code(value: .unreachableGateway)
        /// The interface has to be up for that.
        public static let interfaceIsDown = Code(value: .interfaceIsDown)
        /// There is no such policy rule.
        public static let unknownRule = Code(value: .unknownRule)
        /// There is such a policy rule already.
        public static let ruleExists = Code(value: .ruleExists)
        /// The route cannot end by itself.
        public static let invalidLifetime = Code(value: .invalidLifetime)
        /// A step of a condition does not fit the network as it has become.
        public static let failedStep = Code(value: .failedStep)
        /// The network plays a recording, which cannot be changed.
        public static let recordedNetwork = Code(value: .recordedNetwork)
        /// The simulation did not come to rest: something that it waits for does not end.
        public static let notSettled = Code(value: .notSettled)
        /// A recording cannot be read.
        public static let unreadableRecording = Code(value: .unreadableRecording)

        /// The code's name.
        public var description: String { value.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// What is wrong, and what to write instead.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension SimulationError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
