import Glibc
import MediaCore
import TalkieTestKit
import Testing

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
@Suite(.enabled(if: WallScreens.obstacle == nil || getenv("CI") != nil, "\(WallScreens.obstacle ?? "")"))
struct WallTests {
    /// Half a minute of pictures; two runs of three must be good, as with whatever is measured from outside.
    @Test func twoScreensOfAWallShowOneFrame() throws {
        let top = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let tests = CommandLine.arguments[0].split(separator: "/").dropLast().joined(separator: "/")
        var (good, bad) = (0, 0)
        while good < 2, bad < 2 {
            let run = try ChildProcess(
                "\(top)/Tools/experiments/wall",
                ["--minutes", "0.5", "--check", "--talkie", Self.program(near: "/\(tests)", top)],
                keepsOutput: true)
            print(run.readAll())
            if run.wait() { good += 1 } else { bad += 1 }
        }
        #expect(good == 2)
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
