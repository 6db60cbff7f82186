import Foundation
import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import Sockets

@Suite struct LocalListenerTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path("socket") }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode : nil
    }

    /// Returns the code of a refusal; nil if the listener is created.
    private func refusal(_ path: String) -> SocketError.Code? {
        do throws(SocketError) {
            _ = try LocalListener(path: path)
            return nil
        } catch { return error.code }
    }

    @Test func onlyTheUserCanConnectAndTheFileDisappears() throws {
        var listener: LocalListener? = try LocalListener(path: path)
        #expect(mode(path) == S_IFSOCK | 0o600)
        let address = try #require(LocalSocketAddress(path))
        #expect(LocalStream.connect(to: address).stream != nil)
        let accepted = try #require(listener?.accept())
        #expect(fcntl(accepted.descriptor, F_GETFD) & FD_CLOEXEC != 0, "not inherited by programs")
        #expect(fcntl(accepted.descriptor, F_GETFL) & O_NONBLOCK != 0)
        #expect(listener?.accept() == nil)
        listener = nil
        #expect(mode(path) == nil)
    }

    @Test func anAdmittedGroupCanConnect() throws {
        let listener = try LocalListener(path: path)
        let group = try #require(getgrgid(getegid()))
        try listener.admit(group: String(cString: group.pointee.gr_name))
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_gid == getegid() && status.st_mode == S_IFSOCK | 0o660)
        do throws(SocketError) {
            try listener.admit(group: "no-such-group")
            Issue.record("an unknown group was admitted")
        } catch { #expect(error.message.contains("no such group")) }
    }

    @Test func aSocketOnWhichNoProcessListensIsReplaced() throws {
        let address = try #require(LocalSocketAddress(path))
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #expect(address.withSocketAddress { bind(socket, $0, $1) } == 0)
        close(socket)
        #expect(mode(path) != nil)
        let listener = try LocalListener(path: path)
        #expect(LocalStream.connect(to: address).stream != nil)
        #expect(refusal(path) == .addressInUse, "a process listens")
        #expect(LocalStream.connect(to: address).stream != nil)
        withExtendedLifetime(listener) {}
    }

    /// Another start must not find the socket unused as well, and remove the one that listens by then.
    @Test func twoStartsOnAnUnusedSocketLeaveOneThatListens() throws {
        let address = try #require(LocalSocketAddress(path))
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #expect(address.withSocketAddress { bind(socket, $0, $1) } == 0)
        close(socket)
        var (second, code): (LocalListener?, SocketError.Code?) = (nil, nil)
        let path = path
        let first = try LocalListener(path: path) {
            do throws(SocketError) { second = try LocalListener(path: path, timeout: .zero) } catch {
                code = error.code
            }
        }
        #expect(second == nil && code == .addressInUse)
        #expect(LocalStream.connect(to: address).stream != nil && first.accept() != nil)
        #expect(mode(path + ".lock") == nil, "no lock stays")
    }

    @Test func nothingElseIsReplaced() throws {
        folder.write("text", to: "socket")
        #expect(refusal(path) == .addressInUse && folder.read("socket") == "text")
        symlink(path, folder.path("link"))
        #expect(refusal(folder.path("link")) == .addressInUse && folder.read("socket") == "text")
        #expect(refusal(folder.path) == .addressInUse)
        #expect(refusal(folder.path("none/socket")) == .unavailable && refusal("") == .unavailable)
        #expect(refusal(folder.path(String(repeating: "x", count: 108))) == .unavailable)
    }

    @Test func theSocketOfAnotherListenerIsNotRemoved() throws {
        let first = try LocalListener(path: path)
        unlink(path)
        let second = try LocalListener(path: path)
        first.remove()
        #expect(mode(path) != nil)
        second.remove()
        #expect(mode(path) == nil)
        second.remove()
    }
}
