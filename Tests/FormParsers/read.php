<?php
// Prints the parts of the form of the request, as PHP has read them.
$parts = [];
foreach ($_POST as $name => $value) {
    $parts[] = [(string) $name, null, hash('sha256', is_array($value) ? json_encode($value) : $value)];
}
foreach ($_FILES as $name => $file) {
    $path = $file['tmp_name'];
    $parts[] = [(string) $name, $file['full_path'], $path === '' ? null : hash_file('sha256', $path)];
}
header('Content-Type: application/json');
echo json_encode($parts, JSON_INVALID_UTF8_SUBSTITUTE);
