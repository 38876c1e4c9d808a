// SPDX-License-Identifier: Apache-2.0

public import Foundation
import FoundationNetworking

/// Carries bytes, once.
public protocol Transport: Sendable {
    /// Gets what a URL names, without trying twice.
    func data(from url: URL) async throws(TransportError) -> Data
}

/// Foundation's URLSession.
public struct URLSessionTransport: Transport {
    /// Makes a transport on the shared session.
    public init() {}

    /// Gets what a URL names, once.
    public func data(from url: URL) async throws(TransportError) -> Data {
        do {
            let (data, response) = try await URLSession.shared.data(from: url)
            if let status = (response as? HTTPURLResponse)?.statusCode, !(200..<300).contains(status) {
                throw TransportError.status(status)
            }
            return data
        } catch let error as TransportError {
            throw error
        } catch {
            throw .connection("no answer came (URLError \((error as? URLError)?.code.rawValue ?? 0))")
        }
    }
}
