// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Player",
    dependencies: [.package(name: "talkie", path: "../..")],
    targets: [
        .executableTarget(
            name: "Player", dependencies: [.product(name: "Talkie", package: "talkie")])
    ]
)
