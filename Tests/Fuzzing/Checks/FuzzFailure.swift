/// A rule that some input broke.
package struct FuzzFailure: Error, CustomStringConvertible {
    package let description: String
}

/// - Throws: ``FuzzFailure`` when the condition does not hold.
func require(_ condition: Bool, _ rule: @autoclosure () -> String) throws {
    if !condition { throw FuzzFailure(description: rule()) }
}
