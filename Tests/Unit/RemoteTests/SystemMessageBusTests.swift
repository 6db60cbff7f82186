import Glibc
import MediaCore
import Sockets
import TalkieTestKit
import Testing

@testable import Remote

/// Connections to message buses, without a bus.
@Suite struct SystemMessageBusTests {
    @Test(.timeLimit(.minutes(10))) func aBusThatAnswersNothingIsAbandoned() throws {
        let folder = TemporaryFolder()
        let path = folder.path("bus")
        let listener = try LocalListener(path: path)
        defer { listener.remove() }
        var code: Int32 = 0
        do throws(BusFailure) {
            _ = try SystemMessageBus(.session, at: "unix:path=\(path)", timeout: .milliseconds(20))
        } catch { code = error.code }
        // Without libsystemd there is no connection either.
        #expect([ETIMEDOUT, ENOSYS].contains(code))
    }
}
