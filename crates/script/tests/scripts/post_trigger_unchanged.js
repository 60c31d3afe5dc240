// {"kind": "post", "operation": "Create", "body": {"id": "2"}, "response": {"id": "2"}}
function () { }
