// SPDX-License-Identifier: Apache-2.0

public import Foundation
import FoundationNetworking

/// Performs one attempt of a download.
public protocol Transport: Sendable {
    /// Downloads a URL without a retry.
    func data(from url: URL) async throws(TransportError) -> Data
}

/// A transport that uses Foundation's URLSession.
public struct URLSessionTransport: Transport {
    /// Creates a transport that uses the shared session.
    public init() {}

    /// Downloads a URL without a retry.
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
