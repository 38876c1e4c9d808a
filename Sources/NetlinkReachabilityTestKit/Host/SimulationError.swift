// SPDX-License-Identifier: Apache-2.0

/// A mistake of a test: a change that the simulated network cannot make, or a wait without an end.
///
/// ```swift
/// do {
///     try network.change { host in try host.setDown("eth7") }
/// } catch let error as SimulationError {
///     print(error)   // there is no interface "eth7", only lo, eth0: add it with addInterface
/// }
/// ```
///
/// `NetworkReachability` never throws it.
public struct SimulationError: Error, Hashable, Sendable {
    /// The kind of error, for programs.
    ///
    /// New codes can be added: keep a default branch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        /// No interface has that name.
        public static let unknownInterface = Code(description: "unknownInterface")
        /// An interface has that name already.
        public static let interfaceExists = Code(description: "interfaceExists")
        /// The name is not valid for an interface.
        public static let invalidName = Code(description: "invalidName")
        /// The address is of a kind that is not allowed here.
        public static let invalidAddress = Code(description: "invalidAddress")
        /// The length of a prefix is out of range.
        public static let invalidPrefix = Code(description: "invalidPrefix")
        /// The interface does not have that address.
        public static let unknownAddress = Code(description: "unknownAddress")
        /// The interface has that address already.
        public static let addressExists = Code(description: "addressExists")
        /// The route does not exist.
        public static let unknownRoute = Code(description: "unknownRoute")
        /// A route with that destination and metric exists in the table.
        public static let routeExists = Code(description: "routeExists")
        /// No interface has the gateway on its link.
        public static let unreachableGateway = Code(description: "unreachableGateway")
        /// The interface must be up.
        public static let interfaceIsDown = Code(description: "interfaceIsDown")
        /// The policy rule does not exist.
        public static let unknownRule = Code(description: "unknownRule")
        /// An equal policy rule exists.
        public static let ruleExists = Code(description: "ruleExists")
        /// The kernel would refuse the change for another reason, or the effect of the change is unknown.
        public static let refused = Code(description: "refused")
        /// The route cannot have that lifetime.
        public static let invalidLifetime = Code(description: "invalidLifetime")
        /// A step of a condition cannot be applied to the network.
        public static let failedStep = Code(description: "failedStep")
        /// The network plays a recording and cannot be changed.
        public static let recordedNetwork = Code(description: "recordedNetwork")
        /// The network did not settle within the limit.
        public static let notSettled = Code(description: "notSettled")
        /// The recording cannot be read.
        public static let unreadableRecording = Code(description: "unreadableRecording")
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

/// Throws a ``SimulationError`` unless a condition holds.
func require(
    _ condition: Bool, _ code: SimulationError.Code, _ message: @autoclosure () -> String
) throws(SimulationError) {
    guard condition else { throw SimulationError(code, message()) }
}
