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

/// A fuzz target under Tests/Fuzz; Tools/fuzz links it with the fuzzer.
func fuzzing(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Fuzz/\(name)", swiftSettings: settings)
}

/// A system library: a module map, one header, no code.
func clibrary(_ name: String, pkgConfig: String? = nil) -> Target {
    .systemLibrary(name: name, path: "Sources/CLibraries/\(name)", pkgConfig: pkgConfig)
}

let package = Package(
    name: "talkie",
    products: [
        .library(name: "MediaCore", targets: ["MediaCore"]),
        .executable(name: "talkie", targets: ["TalkieCLI"]),
        .library(name: "MediaFiles", targets: ["MediaFiles"]),
        .library(name: "MediaCodecs", targets: ["MediaCodecs"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
    ],
    targets: [
        // C libraries
        clibrary("CFFmpeg", pkgConfig: "libavformat"),
        clibrary("CSDL", pkgConfig: "sdl2"),
        clibrary("CALSA", pkgConfig: "alsa"),
        clibrary("CSodium", pkgConfig: "libsodium"),
        clibrary("CGMP", pkgConfig: "gmp"),
        clibrary("CAvahi", pkgConfig: "avahi-client"),
        .target(name: "CShim", path: "Sources/CLibraries/CShim"),
        .target(
            name: "CBigNumber", dependencies: ["CGMP"], path: "Sources/CLibraries/CBigNumber",
            linkerSettings: [.linkedLibrary("gmp")]),
        .target(name: "CSockets", path: "Sources/CLibraries/CSockets"),

        // The house, from the ground up
        module("MediaCore", ["CShim"]),
        module("SyncRendering", ["MediaCore"]),
        module("MediaCodecs", ["SyncRendering", "CFFmpeg"]),
        module("MediaFiles", ["MediaCore", "CFFmpeg"]),
        module("LocalOutput", ["SyncRendering", "CSDL", "CALSA"]),
        module("AirPlayWire", ["MediaCore", "CSodium", "CBigNumber"]),
        module("PTP", ["MediaCore", "CSockets"]),
        module("AirPlay", ["AirPlayWire", "PTP", "SyncRendering", "MediaCore", "CAvahi", "CSockets"]),
        module("Talkie", ["MediaFiles", "MediaCodecs", "LocalOutput", "SyncRendering", "MediaCore", "CShim"]),
        .executableTarget(
            name: "TalkieCLI",
            dependencies: [
                "Talkie", "MediaCore", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/TalkieCLI", swiftSettings: settings),
        module("TalkieTestKit", ["SyncRendering", "MediaCodecs", "MediaFiles", "MediaCore"]),
        module("VirtualSpeaker", ["AirPlayWire", "PTP", "SyncRendering", "MediaCore", "CSockets"]),

        // Tests
        .executableTarget(
            name: "screen-probe", dependencies: ["LocalOutput", "CFFmpeg"], path: "Tests/Support/screen-probe",
            swiftSettings: settings),
        tests("MediaCoreTests", in: "Unit", ["MediaCore"]),
        tests("SyncRenderingTests", in: "Unit", ["SyncRendering", "TalkieTestKit"]),
        tests("AirPlayWireTests", in: "Unit", ["AirPlayWire", "MediaCore"]),
        tests("PTPTests", in: "Unit", ["PTP", "MediaCore"]),
        tests(
            "MediaFilesTests", in: "Unit", ["MediaFiles", "MediaCodecs", "MediaCore", "SyncRendering", "TalkieTestKit"]),
        tests(
            "TalkieTests", in: "Unit",
            ["Talkie", "MediaCodecs", "LocalOutput", "SyncRendering", "MediaCore", "TalkieTestKit"]),
        tests(
            "TalkieCLITests", in: "Unit",
            ["TalkieCLI", "Talkie", "MediaCore", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            exclude: ["Snapshots"]),
        tests("AirPlayTests", in: "Unit", ["AirPlay", "AirPlayWire", "PTP", "SyncRendering", "MediaCore"]),
        tests("SoundCardTests", in: "Integration", ["LocalOutput", "SyncRendering", "MediaCore"]),
        tests("AirPlayLabTests", in: "Integration", ["AirPlay", "AirPlayWire", "PTP", "MediaCore"]),

        tests("DiscoveryTests", in: "Integration", ["AirPlay", "AirPlayWire", "MediaCore"]),
        tests("PlayCommandTests", in: "EndToEnd", ["TalkieCLI"]),
        tests("SpeakerPeerTests", in: "EndToEnd", ["VirtualSpeaker", "PTP", "MediaCore"], exclude: ["pyatv-play.py"]),
        tests(
            "VirtualSpeakerTests", in: "Unit", ["VirtualSpeaker", "AirPlayWire", "PTP", "SyncRendering", "MediaCore"]),

        // Fuzz targets, one per parser
        fuzzing("Demux", ["MediaFiles", "MediaCodecs", "SyncRendering", "MediaCore"]),
        fuzzing("PlaylistFuzz", ["Talkie"]),
        fuzzing("TimelineFuzz", ["Talkie"]),
    ]
)
