// swift-tools-version: 6.1
import PackageDescription

let libraries = [
    "MediaCore", "SyncRendering", "MediaFiles", "MediaCodecs", "ScreenOutput", "CardOutput", "AirPlay",
]

let package = Package(
    name: "Renderers",
    dependencies: [.package(name: "talkie", path: "../..")],
    targets: [
        .executableTarget(
            name: "Renderers", dependencies: libraries.map { .product(name: $0, package: "talkie") })
    ]
)
