/// The version of Talkie.
package enum Release {
    package static let version = "0.9.0"
}
