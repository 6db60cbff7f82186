import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import RouteTestSupport

/// What two screens with networks of their own need.
enum WallScreens {
    static let obstacle: String? = {
        if let missing = Chrony.obstacle { return missing }
        for program in ["/usr/bin/Xvfb", "/sbin/ip", "/usr/bin/cc"] where access(program, X_OK) != 0 {
            return "\(program) is not installed"
        }
        return nil
    }()
}

/// Two kiosks, the program itself, on two computers whose clocks part, looked at from outside.
@Suite(
    .enabled(if: WallScreens.obstacle == nil || getenv("CI") != nil, "\(WallScreens.obstacle ?? "")"),
    .repeatedWhenTheMachineStalls)
struct WallTests {
    /// Half a minute of pictures in each run.
    @Test func twoScreensOfAWallShowOneFrame() throws {
        let top = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let tests = CommandLine.arguments[0].split(separator: "/").dropLast().joined(separator: "/")
        try TwoOfThree.measure("wall") {
            let run = try ChildProcess(
                "\(top)/Tools/experiments/wall",
                ["--minutes", "0.5", "--check", "--talkie", Self.program(near: "/\(tests)", top)],
                keepsOutput: true)
            let figure = run.readAll()
            return .init(figure: figure, isGood: run.wait())
        }
    }

    /// The program lies beside the tests.
    private static func program(near folder: String, _ top: String) -> String {
        var folder = folder
        while folder.count > 1 {
            if access("\(folder)/talkie", X_OK) == 0 { return "\(folder)/talkie" }
            folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
        }
        return "\(top)/.build/debug/talkie"
    }
}
