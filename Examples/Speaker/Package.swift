// swift-tools-version: 6.1
import PackageDescription

func library(_ name: String) -> Target.Dependency { .product(name: name, package: "talkie") }

let package = Package(
    name: "Speaker",
    dependencies: [.package(name: "talkie", path: "../..")],
    targets: [
        .target(name: "MemorySpeaker", dependencies: [library("SyncRendering"), library("MediaCore")]),
        .executableTarget(name: "SpeakerDemo", dependencies: ["MemorySpeaker", library("Talkie")]),
        .testTarget(
            name: "MemorySpeakerTests",
            dependencies: ["MemorySpeaker", library("SpeakerKit"), library("SyncRendering"), library("MediaCore")]),
    ]
)
