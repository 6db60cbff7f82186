// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Session",
    dependencies: [.package(name: "talkie", path: "../..")],
    targets: [
        .executableTarget(
            name: "SessionDemo",
            dependencies: [
                .product(name: "Talkie", package: "talkie"), .product(name: "Remote", package: "talkie"),
            ])
    ]
)
