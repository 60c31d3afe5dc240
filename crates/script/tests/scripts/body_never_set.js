() => 'the value of the function is not the body'
