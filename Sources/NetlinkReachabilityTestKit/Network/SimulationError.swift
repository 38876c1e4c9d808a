// SPDX-License-Identifier: Apache-2.0

/// An error of a test: a change that no network can make.
///
/// ```swift
/// do {
///     try network.change { host in try host.addAddress("192.0.2.2", to: "eth0") }
/// } catch let error as SimulationError {
///     print(error)   // "192.0.2.2" is not an address with a prefix length: write it as "192.0.2.2/24"
/// }
/// ```
///
/// `NetworkReachability` never throws it.
public struct SimulationError: Error, Hashable, Sendable {
    /// The kind of error, for programs.
    ///
    /// New codes can be added: keep a default branch.
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

        /// No interface has that name.
        public static let unknownInterface = Code(value: .unknownInterface)
        /// An interface has that name already.
        public static let interfaceExists = Code(value: .interfaceExists)
        /// The name is not valid for an interface.
        public static let invalidName = Code(value: .invalidName)
        /// The text is not an address, or not of a kind that is allowed here.
        public static let invalidAddress = Code(value: .invalidAddress)
        /// The text is not a prefix, or it is an address without a prefix length.
        public static let invalidPrefix = Code(value: .invalidPrefix)
        /// The interface does not have that address.
        public static let unknownAddress = Code(value: .unknownAddress)
        /// The interface has that address already.
        public static let addressExists = Code(value: .addressExists)
        /// No such route exists.
        public static let unknownRoute = Code(value: .unknownRoute)
        /// A route with that destination and metric exists in the table.
        public static let routeExists = Code(value: .routeExists)
        /// No interface has the gateway on its link.
        public static let unreachableGateway = Code(value: .unreachableGateway)
        /// The interface must be up.
        public static let interfaceIsDown = Code(value: .interfaceIsDown)
        /// No such policy rule exists.
        public static let unknownRule = Code(value: .unknownRule)
        /// An equal policy rule exists.
        public static let ruleExists = Code(value: .ruleExists)
        /// The route cannot have that lifetime.
        public static let invalidLifetime = Code(value: .invalidLifetime)
        /// A step of a condition cannot be applied to the network.
        public static let failedStep = Code(value: .failedStep)
        /// The network plays a recording and cannot be changed.
        public static let recordedNetwork = Code(value: .recordedNetwork)
        /// The network did not settle within the limit.
        public static let notSettled = Code(value: .notSettled)
        /// The recording cannot be read.
        public static let unreadableRecording = Code(value: .unreadableRecording)

        /// The code's name.
        public var description: String { value.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// What is wrong and what to do instead.
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
