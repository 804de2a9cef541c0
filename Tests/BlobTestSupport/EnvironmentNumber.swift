import Foundation

/// The number in a variable of the environment, with which a run of the tests is made longer or repeated.
///
/// - Returns: Nil when the variable is not set or has no number.
package func environmentNumber<Number: FixedWidthInteger>(_ variable: String) -> Number? {
    ProcessInfo.processInfo.environment[variable].flatMap { Number($0) }
}
