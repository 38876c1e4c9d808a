// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import CSystemd
    internal import Glibc
    internal import NetlinkReachability
    internal import SystemSupport

    /// A connection to the system bus, for one thread.
    ///
    /// Every function returns within a time limit, even if the bus or the receiver of a call does not answer.
    final class SystemBus {
        /// The time limit for answers of the bus and of a manager, in microseconds.
        static let limit: UInt64 = 2_000_000

        private let bus: OpaquePointer

        /// Connects to the bus in DBUS_SYSTEM_BUS_ADDRESS, or to the default system bus.
        init() throws(ManagerError) {
            var opened: OpaquePointer?
            try ManagerError.check(sd_bus_open_system(&opened))
            guard let opened else { throw ManagerError(number: ENOTCONN) }
            bus = opened
            try ManagerError.check(sd_bus_set_method_call_timeout(bus, Self.limit))
            // A call has no time limit until the connection is authenticated.
            let deadline = ContinuousClock.now + .microseconds(Self.limit)
            while try ManagerError.check(sd_bus_is_ready(bus)) == 0 {
                if try ManagerError.check(sd_bus_process(bus, nil)) > 0 { continue }
                let left = ContinuousClock.now.duration(to: deadline)
                guard left > .zero else { throw ManagerError(number: ETIMEDOUT) }
                waitForDescriptor(descriptor, Int32(events), atMost: left)
            }
        }

        deinit {
            sd_bus_close_unref(bus)
        }

        /// The descriptor to poll.
        var descriptor: Int32 { sd_bus_get_fd(bus) }

        /// The poll(2) events to wait for.
        var events: Int16 { Int16(truncatingIfNeeded: max(0, sd_bus_get_events(bus))) }

        /// Subscribes to the signals that match a rule.
        func subscribe(_ rule: String) throws(ManagerError) {
            try call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", [rule])
        }

        /// Calls a method and waits for its answer.
        ///
        /// A program that is not running is not started for the call. The arguments are strings.
        ///
        /// - Returns: The first value of the answer; `nil` if it has none.
        /// - Throws: The error of the receiver, or of the connection.
        @discardableResult
        func call(
            _ destination: String, _ path: String, _ interface: String, _ method: String,
            _ texts: [String] = []
        ) throws(ManagerError) -> BusValue? {
            var message: OpaquePointer?
            try ManagerError.check(
                sd_bus_message_new_method_call(bus, &message, destination, path, interface, method))
            defer { sd_bus_message_unref(message) }
            try ManagerError.check(sd_bus_message_set_auto_start(message, 0))
            for text in texts {
                try ManagerError.check(sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), text))
            }
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            var reply: OpaquePointer?
            let status = sd_bus_call(bus, message, Self.limit, &error, &reply)
            defer { sd_bus_message_unref(reply) }
            guard status >= 0, let reply else {
                throw ManagerError(
                    number: -status, name: error.name.map { String(cString: $0) } ?? "",
                    message: error.message.map { String(cString: $0) } ?? "")
            }
            return try BusValue(nextOf: reply)
        }

        /// A received signal.
        struct Signal {
            /// The bus name of the sender, as reported by the bus.
            var sender: String
            var path: String
            var member: String
            /// The first argument; `nil` unless it is text.
            var first: String?
        }

        /// Reads received messages, up to a limit.
        ///
        /// Every user of the bus can send signals to this connection, faster than they can be read.
        ///
        /// - Parameter handle: Called with each signal.
        /// - Returns: Whether more may have arrived.
        /// - Throws: An error if the connection has ended.
        func process(_ handle: (Signal) -> Void) throws(ManagerError) -> Bool {
            for _ in 0..<1_000 {
                var message: OpaquePointer?
                let status = try ManagerError.check(sd_bus_process(bus, &message))
                defer { sd_bus_message_unref(message) }
                guard status > 0 else { return false }
                guard let message, let path = sd_bus_message_get_path(message),
                    let member = sd_bus_message_get_member(message)
                else { continue }
                handle(
                    Signal(
                        sender: sd_bus_message_get_sender(message).map { String(cString: $0) } ?? "",
                        path: String(cString: path), member: String(cString: member),
                        first: try? BusValue(nextOf: message)?.text))
            }
            return true
        }
    }

#endif
