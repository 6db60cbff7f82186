// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// One Swift module: its folder under Sources, the modules below it, and nothing else.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(name)", swiftSettings: settings)
}

/// A folder of behaviour tests under Tests/<kind>.
func tests(_ name: String, in kind: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(kind)/\(name)", exclude: exclude,
        swiftSettings: settings)
}

/// A library of tests under Tests/Support.
func support(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", swiftSettings: settings)
}

/// A harness for libFuzzer under Tests/Fuzz; a library, because libFuzzer brings its own main. Tools/fuzz links it.
func fuzzing(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Fuzz/\(name)", swiftSettings: settings)
}

/// A system library: a module map, one header, no code.
///
/// - Parameter package: Debian's, which the build names if the headers are missing.
func clibrary(_ name: String, pkgConfig: String? = nil, in package: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/CLibraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

let package = Package(
    name: "talkie",
    products: [
        .executable(name: "talkie", targets: ["TalkieCLI"]),
        // A player, its window, and where its sound can go
        .library(name: "Talkie", targets: ["Talkie"]),
        // The floors below, for those who build their own
        .library(name: "MediaCore", targets: ["MediaCore"]),
        .library(name: "SyncRendering", targets: ["SyncRendering"]),
        .library(name: "MediaFiles", targets: ["MediaFiles"]),
        .library(name: "MediaCodecs", targets: ["MediaCodecs"]),
        .library(name: "ScreenOutput", targets: ["ScreenOutput"]),
        .library(name: "CardOutput", targets: ["CardOutput"]),
        .library(name: "AirPlay", targets: ["AirPlay"]),
        .library(name: "Playback", targets: ["Playback"]),
        .library(name: "Routing", targets: ["Routing"]),
        // The contract of an output, for the tests of those who write one
        .library(name: "SpeakerKit", targets: ["SpeakerKit"]),
        // Other programs of the desktop control a player
        .library(name: "Remote", targets: ["Remote"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
    ],
    targets: [
        // C libraries
        clibrary("CFFmpeg", pkgConfig: "libavformat", in: "libavformat-dev"),
        clibrary("CASS", pkgConfig: "libass", in: "libass-dev"),
        clibrary("CUchardet", pkgConfig: "uchardet", in: "libuchardet-dev"),
        // Without pkg-config, whose flag -D_REENTRANT SwiftPM refuses with a warning in every build.
        clibrary("CSDL", in: "libsdl2-dev"),
        clibrary("CALSA", pkgConfig: "alsa", in: "libasound2-dev"),
        // Types only: the library is opened at run time, so pkg-config must not link it.
        clibrary("CPulse", in: "libpulse-dev"),
        clibrary("CMosquitto", in: "libmosquitto-dev"),
        clibrary("CSodium", pkgConfig: "libsodium", in: "libsodium-dev"),
        clibrary("CGMP", pkgConfig: "gmp", in: "libgmp-dev"),
        clibrary("CAvahi", in: "libavahi-client-dev"),
        // Opened at run time, too: what it brings along is many megabytes.
        .target(name: "CPlacebo", path: "Sources/CLibraries/CPlacebo"),
        // X11's extensions are opened at run time, by a window that wants them.
        .target(name: "CX11", path: "Sources/CLibraries/CX11"),
        .target(name: "CWayland", path: "Sources/CLibraries/CWayland"),
        .target(name: "CShim", path: "Sources/CLibraries/CShim"),
        .target(
            name: "CBigNumber", dependencies: ["CGMP"], path: "Sources/CLibraries/CBigNumber",
            linkerSettings: [.linkedLibrary("gmp")]),
        // Redirects calls of libass, in every process that draws subtitles.
        .target(name: "CAssMemory", path: "Sources/CLibraries/CAssMemory"),
        .target(name: "CTOML", path: "Sources/CLibraries/CTOML"),
        // Opened at run time, by what needs them.
        .target(name: "CSystemd", path: "Sources/CLibraries/CSystemd"),
        .target(name: "CMicroHTTPD", path: "Sources/CLibraries/CMicroHTTPD"),
        .target(name: "CSockets", path: "Sources/CLibraries/CSockets"),
        .target(name: "CCrash", path: "Sources/CLibraries/CCrash"),
        // Not for the library's modules: it changes the process that it is linked into.
        .target(name: "CPrivileges", path: "Sources/CLibraries/CPrivileges"),

        // The house, from the ground up: values, film, heart, outputs, what a player needs, the program
        module("MediaCore", ["CShim"]),
        module("Storage", ["MediaCore"]),
        module("Sockets", ["MediaCore", "CSockets"]),
        module("Discovery", ["Sockets", "MediaCore", "CAvahi"]),
        module("SyncRendering", ["MediaCore"]),
        module("MediaCodecs", ["SyncRendering", "MediaCore", "CFFmpeg"]),
        module("MediaFiles", ["MediaCore", "CFFmpeg", "CUchardet"]),
        module("Text", ["MediaCore", "CASS", "CAssMemory"]),
        module("CardPlayout", ["SyncRendering", "MediaCore"]),
        module(
            "ScreenOutput",
            ["Text", "SyncRendering", "MediaCore", "CSDL", "CX11", "CWayland", "CPlacebo", "CShim"]),
        module("CardOutput", ["CardPlayout", "SyncRendering", "MediaCore", "CALSA", "CPulse"]),
        module("AirPlayWire", ["MediaCore", "CSodium", "CBigNumber"]),
        module("PTP", ["Sockets", "MediaCore", "CSockets"]),
        module(
            "AirPlayTransport",
            ["AirPlayWire", "PTP", "Discovery", "Sockets", "SyncRendering", "Storage", "MediaCore"]),
        module(
            "AirPlay",
            [
                "AirPlayTransport", "AirPlayWire", "PTP", "Discovery", "Sockets", "SyncRendering", "Storage",
                "MediaCore",
            ]),
        module(
            "ClassicAirPlay",
            [
                "AirPlayTransport", "AirPlayWire", "PTP", "Discovery", "Sockets", "SyncRendering", "Storage",
                "MediaCore", "CBigNumber", "CFFmpeg",
            ]),
        module("Profiles", ["SyncRendering", "Storage", "MediaCore"]),
        module("Playback", ["Profiles", "MediaFiles", "MediaCodecs", "SyncRendering", "Storage", "MediaCore"]),
        module("Telemetry", ["Profiles", "SyncRendering", "Storage", "MediaCore"]),
        module(
            "Calibration",
            ["Profiles", "ScreenOutput", "CardOutput", "MediaCodecs", "SyncRendering", "Storage", "MediaCore"]),
        module("Routing", ["Playback", "MediaCodecs", "SyncRendering", "Storage", "MediaCore"]),
        module(
            "Talkie",
            [
                "Playback", "Profiles", "Routing", "AirPlay", "ClassicAirPlay", "AirPlayTransport", "ScreenOutput",
                "CardOutput",
                "MediaFiles", "MediaCodecs",
                "SyncRendering", "MediaCore",
            ]),
        module("Remote", ["Playback", "Sockets", "MediaCore", "CSystemd", "CMicroHTTPD"]),
        module(
            "Kiosk",
            [
                "Remote", "Talkie", "Playback", "Routing", "Telemetry", "ScreenOutput", "MediaCodecs", "SyncRendering",
                "Storage", "Sockets", "MediaFiles", "MediaCore", "CTOML", "CSystemd", "CMosquitto", "CShim",
                "CCrash",
            ]),
        module(
            "TalkieApp",
            [
                "Talkie", "Kiosk", "Remote", "Playback", "Routing", "Calibration", "Telemetry", "Profiles", "AirPlay",
                "ClassicAirPlay",
                "AirPlayTransport", "PTP",
                "Discovery", "Sockets", "ScreenOutput", "CardOutput", "MediaFiles", "MediaCodecs", "SyncRendering",
                "Storage", "MediaCore", "CShim", "CPrivileges",
            ]),
        module(
            "VirtualSpeaker",
            [
                "AirPlayWire", "PTP", "Discovery", "Sockets", "MediaCodecs", "CardOutput", "SyncRendering",
                "MediaCore", "CFFmpeg",
            ]),
        .executableTarget(
            name: "TalkieCLI",
            dependencies: [
                "TalkieApp", "AirPlay", "AirPlayTransport", "Calibration", "Telemetry", "Profiles", "Routing",
                "Playback", "MediaFiles",
                "SyncRendering", "VirtualSpeaker", "AirPlayWire", "Storage", "MediaCore", "CShim",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/TalkieCLI", swiftSettings: settings),
        module("TalkieTestKit", ["CardPlayout", "SyncRendering", "MediaCodecs", "MediaFiles", "MediaCore"]),
        module("SpeakerKit", ["TalkieTestKit", "MediaFiles", "MediaCodecs", "SyncRendering", "MediaCore"]),

        // Behaviour, time turned by hand
        tests(
            "KioskTests", in: "Unit",
            [
                "Kiosk", "Remote", "Telemetry", "Playback", "Routing", "ScreenOutput", "SyncRendering", "Storage",
                "Sockets", "MediaCore", "TalkieTestKit",
            ]),
        support("RemoteTestSupport", ["Remote", "Playback", "SyncRendering", "MediaCore"]),
        tests("MediaCoreTests", in: "Unit", ["MediaCore"]),
        tests("SyncRenderingTests", in: "Unit", ["CardPlayout", "SyncRendering", "MediaCore", "TalkieTestKit"]),
        tests("CardPlayoutTests", in: "Unit", ["CardPlayout", "SyncRendering", "MediaCore", "TalkieTestKit"]),
        tests(
            "MediaFilesTests", in: "Unit",
            ["MediaFiles", "MediaCodecs", "MediaCore", "SyncRendering", "TalkieTestKit", "CFFmpeg"]),
        tests(
            "MediaCodecsTests", in: "Unit",
            ["RouteTestSupport", "MediaFiles", "MediaCodecs", "MediaCore", "SyncRendering", "TalkieTestKit", "CFFmpeg"]),
        tests("TextTests", in: "Unit", ["Text", "MediaCore"]),
        tests("ScreenOutputTests", in: "Unit", ["ScreenOutput", "Text", "SyncRendering", "MediaCore", "CSDL"]),
        tests("CardOutputTests", in: "Unit", ["CardOutput", "MediaCore"]),
        tests("AirPlayWireTests", in: "Unit", ["AirPlayWire", "MediaCore"]),
        tests("PTPTests", in: "Unit", ["PTP", "Sockets", "MediaCore", "TalkieTestKit"]),
        tests(
            "AirPlayTests", in: "Unit",
            [
                "AirPlay", "AirPlayTransport", "AirPlayWire", "PTP", "Sockets", "SyncRendering", "MediaCore",
                "TalkieTestKit",
            ]),
        tests(
            "ClassicAirPlayTests", in: "Unit",
            [
                "ClassicAirPlay", "AirPlayTransport", "AirPlayWire", "PTP", "Discovery", "Sockets", "SyncRendering",
                "Storage", "MediaCore", "TalkieTestKit",
            ]),
        tests(
            "AirPlayDiscoveryTests", in: "Unit",
            ["AirPlay", "AirPlayTransport", "AirPlayWire", "Discovery", "Sockets", "MediaCore"]),
        tests(
            "AirPlayPairingTests", in: "Unit",
            ["Routing", "AirPlay", "AirPlayTransport", "AirPlayWire", "PTP", "Storage", "MediaCore"]),
        support("SpeakerTestSupport", ["VirtualSpeaker", "AirPlayWire", "PTP", "Sockets", "MediaCore"]),
        support(
            "RouteTestSupport",
            [
                "SpeakerKit", "ClassicAirPlay", "AirPlay", "AirPlayTransport", "VirtualSpeaker", "PTP", "Sockets",
                "CardOutput", "MediaFiles",
                "MediaCodecs",
                "SyncRendering", "MediaCore", "TalkieTestKit",
            ]),
        tests(
            "VirtualSpeakerTests", in: "Unit",
            [
                "SpeakerTestSupport", "VirtualSpeaker", "AirPlayWire", "PTP", "Sockets", "SyncRendering", "MediaCore",
                "TalkieTestKit",
            ]),
        tests(
            "StreamCounterTests", in: "Unit",
            [
                "SpeakerTestSupport", "AirPlay", "AirPlayTransport", "VirtualSpeaker", "AirPlayWire", "PTP",
                "SyncRendering", "MediaCore",
                "TalkieTestKit",
            ]),
        tests(
            "PlaybackTests", in: "Unit",
            [
                "Playback", "Profiles", "MediaFiles", "MediaCodecs", "CardPlayout", "SyncRendering", "MediaCore",
                "TalkieTestKit",
            ]),
        tests(
            "RoutingTests", in: "Unit",
            [
                "Routing", "Playback", "Profiles", "AirPlay", "ClassicAirPlay", "AirPlayTransport", "CardOutput",
                "SyncRendering", "Storage", "MediaCore", "TalkieTestKit",
            ]),
        tests(
            "CalibrationTests", in: "Unit",
            ["Calibration", "Profiles", "ScreenOutput", "SyncRendering", "Storage", "MediaCore"]),
        tests("TelemetryTests", in: "Unit", ["Telemetry", "Playback", "SyncRendering", "MediaCore", "TalkieTestKit"]),
        tests(
            "TalkieTests", in: "Unit",
            ["Talkie", "Playback", "Routing", "Profiles", "SyncRendering", "Storage", "MediaCore", "TalkieTestKit"]),
        tests(
            "RemoteTests", in: "Unit",
            ["RemoteTestSupport", "Remote", "Playback", "Sockets", "SyncRendering", "MediaCore", "TalkieTestKit"]),
        tests(
            "TalkieAppTests", in: "Unit",
            [
                "TalkieApp", "Playback", "Routing", "Telemetry", "Calibration", "Profiles", "AirPlay",
                "AirPlayTransport", "AirPlayWire", "PTP",
                "Discovery", "Sockets", "MediaCodecs", "ScreenOutput", "CardOutput", "SyncRendering", "Storage",
                "MediaCore", "TalkieTestKit",
            ]),
        tests(
            "TalkieCLITests", in: "Unit",
            [
                "TalkieCLI", "TalkieApp", "Kiosk", "Calibration", "Profiles", "Routing", "Playback", "Telemetry",
                "VirtualSpeaker", "AirPlay", "AirPlayTransport", "AirPlayWire", "PTP", "Sockets", "Storage",
                "MediaFiles", "SyncRendering",
                "MediaCore", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),

        // Real peers
        .executableTarget(
            name: "screen-probe", dependencies: ["ScreenOutput", "MediaCodecs", "SyncRendering", "MediaCore"],
            path: "Tests/Support/screen-probe", swiftSettings: settings),
        support("ServiceSupervisor", ["Sockets", "MediaCore"]),
        support("ProgramTestSupport"),
        support("PythonPackages"),
        tests(
            "KioskServiceTests", in: "Integration",
            ["ServiceSupervisor", "PythonPackages", "Kiosk", "Remote", "Sockets", "SyncRendering", "MediaCore"],
            exclude: ["service-probe.py", "read-metrics.py", "prometheus-requirements.txt"]),
        tests(
            "RemoteServiceTests", in: "Integration",
            ["RemoteTestSupport", "Remote", "Playback", "SyncRendering", "MediaCore", "TalkieTestKit"]),
        tests(
            "ScreenTests", in: "Integration",
            [
                "screen-probe", "ProgramTestSupport", "ServiceSupervisor", "RouteTestSupport", "VirtualSpeaker",
                "Calibration", "CardOutput", "Sockets", "MediaCore", "TalkieTestKit",
            ], exclude: ["Charts"]),
        tests(
            "KioskPeerTests", in: "Integration",
            ["RouteTestSupport", "Kiosk", "Playback", "MediaCore", "TalkieTestKit"]),
        tests(
            "SoundCardTests", in: "Integration",
            [
                "RouteTestSupport", "AirPlay", "AirPlayTransport", "CardOutput", "SyncRendering", "MediaCore",
                "TalkieTestKit",
            ]),
        tests(
            "DiscoveryTests", in: "Integration",
            [
                "TalkieCLI", "ProgramTestSupport", "ClassicAirPlay", "Storage", "SyncRendering", "AirPlay",
                "AirPlayTransport", "AirPlayWire", "VirtualSpeaker",
                "PTP", "Discovery",
                "Sockets", "MediaCore",
            ]),
        tests(
            "AirPlayLabTests", in: "Integration",
            [
                "ProgramTestSupport", "RouteTestSupport", "ClassicAirPlay", "AirPlay", "AirPlayTransport",
                "AirPlayWire",
                "VirtualSpeaker", "PTP",
                "CardOutput", "SyncRendering", "MediaCodecs", "MediaCore",
            ]),
        tests(
            "SpeakerPeerTests", in: "EndToEnd",
            ["PythonPackages", "VirtualSpeaker", "PTP", "MediaCore"],
            exclude: ["pyatv-play.py", "pyatv-requirements.txt"]),
        tests(
            "VirtualSpeakerLoopTests", in: "EndToEnd",
            [
                "ClassicAirPlay", "RouteTestSupport", "AirPlay", "AirPlayTransport", "AirPlayWire", "VirtualSpeaker",
                "PTP", "Sockets",
                "MediaCodecs",
                "SyncRendering", "MediaCore", "TalkieTestKit",
            ]),
        tests(
            "FilmTests", in: "EndToEnd",
            [
                "TalkieCLI", "ScreenOutput", "ProgramTestSupport", "PythonPackages", "RouteTestSupport",
                "TalkieTestKit", "VirtualSpeaker", "PTP", "Sockets", "Text", "MediaCore",
            ], exclude: ["Features/mpv-client.py", "Features/mpv-client-requirements.txt"]),

        // What the renderers cost: Benchmarks/renderers
        .target(name: "AllocationCount", path: "Benchmarks/AllocationCount"),
        .executableTarget(
            name: "renderer-bench",
            dependencies: [
                "AllocationCount", "TalkieTestKit", "MediaCodecs", "CardPlayout", "SyncRendering", "MediaCore",
            ],
            path: "Benchmarks/RendererBench", swiftSettings: settings),

        // One harness per parser or conversation
        support("FuzzSupport"),
        .target(name: "FuzzWatch", path: "Tests/Support/FuzzWatch"),
        fuzzing("Demux", ["MediaFiles", "MediaCodecs", "SyncRendering", "MediaCore"]),
        fuzzing(
            "PlayFuzz",
            ["FuzzSupport", "TalkieTestKit", "Playback", "MediaFiles", "MediaCodecs", "SyncRendering", "MediaCore"]),
        fuzzing("SubtitleFuzz", ["MediaFiles", "MediaCodecs", "SyncRendering", "MediaCore"]),
        fuzzing("PictureFuzz", ["MediaFiles", "MediaCodecs", "SyncRendering", "MediaCore"]),
        fuzzing("PlaylistFuzz", ["Playback"]),
        fuzzing("JSONFuzz", ["MediaCore"]),
        fuzzing("IPCFuzz", ["FuzzSupport", "Remote", "Playback", "MediaCore"]),
        fuzzing("WebFuzz", ["FuzzSupport", "Playback", "MediaFiles", "MediaCore"]),
        fuzzing("TimelineFuzz", ["Telemetry", "MediaCore"]),
        fuzzing("CalibrationFuzz", ["Calibration", "Profiles", "ScreenOutput", "SyncRendering", "MediaCore"]),
        fuzzing("PropertyListFuzz", ["AirPlayWire"]),
        fuzzing("TLV8Fuzz", ["AirPlayWire"]),
        fuzzing("PairingFuzz", ["AirPlayWire"]),
        fuzzing("RTSPFuzz", ["AirPlayWire"]),
        fuzzing("FramesFuzz", ["AirPlayWire"]),
        fuzzing("DatagramsFuzz", ["AirPlayWire"]),
        fuzzing("PTPFuzz", ["PTP", "Sockets", "MediaCore"]),
        fuzzing(
            "SpeakerFuzz", ["SpeakerTestSupport", "VirtualSpeaker", "AirPlayWire", "MediaCore", "TalkieTestKit"]),
        fuzzing(
            "StateFuzz",
            [
                "FuzzSupport", "TalkieApp", "Routing", "AirPlay", "AirPlayTransport", "AirPlayWire", "Profiles",
                "Storage", "MediaCore",
            ]),
        fuzzing("TerminalKeysFuzz", ["FuzzSupport", "TalkieApp", "MediaCore"]),
        fuzzing("ConfigFuzz", ["FuzzSupport", "Kiosk", "TalkieApp", "MediaCore"]),
        fuzzing("FleetFuzz", ["FuzzSupport", "Kiosk", "Playback", "MediaCore"]),
        fuzzing(
            "DiscoveryFuzz", ["FuzzSupport", "AirPlay", "AirPlayTransport", "AirPlayWire", "Discovery", "Sockets"]),
        fuzzing(
            "SenderFuzz",
            [
                "FuzzSupport", "ClassicAirPlay", "SyncRendering", "AirPlay", "AirPlayTransport", "AirPlayWire",
                "Sockets", "MediaCore",
            ]),
        fuzzing("HLSFuzz", ["FuzzSupport", "FuzzWatch", "MediaFiles", "MediaCore"]),
    ],
    cxxLanguageStandard: .cxx17
)

// For tests: the modules of this list are optimized, whatever the configuration is.
for name in Context.environment["TALKIE_OPTIMIZED"]?.split(separator: " ").map(String.init) ?? [] {
    guard let target = package.targets.first(where: { $0.name == name }) else {
        fatalError("TALKIE_OPTIMIZED: there is no target \(name)")
    }
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-O"])]
}

// For `make test`, and for Tools/fuzz and `make test-threads`, whose builds with sanitizers take minutes: only the
// targets of this list and those that they need.
if let names = Context.environment["TALKIE_TARGETS"]?.split(separator: " ").map(String.init) {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var (needed, left): (Set<String>, [String]) = ([], names)
    while let name = left.popLast() {
        guard let target = targets[name] else { fatalError("TALKIE_TARGETS: there is no target \(name)") }
        guard needed.insert(name).inserted else { continue }
        for case .byNameItem(let name, _) in target.dependencies { left.append(name) }
    }
    package.targets = package.targets.filter { needed.contains($0.name) }
    package.products = package.products.filter { product in
        (product as? Product.Executable).map { needed.isSuperset(of: $0.targets) } ?? false
    }
    // Dependencies stay, also where that gives a warning: without any, Package.resolved is deleted.
}
