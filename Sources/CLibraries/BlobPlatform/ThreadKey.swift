/// Makes a place for a value of each thread.
package func makeThreadKey() -> pthread_key_t {
    var key = pthread_key_t()
    let result = pthread_key_create(&key, nil)
    precondition(result == 0, "The process has no room for one more thread-specific value.")
    return key
}
