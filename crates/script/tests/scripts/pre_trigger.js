// {"kind": "pre", "operation": "Create", "body": {"id": "1", "a": 1}}
function () {
    var request = getContext().getRequest();
    var body = request.getBody();
    if (!('timestamp' in body)) body.timestamp = 5;
    body.operation = request.getOperationType();
    body.response = [typeof getContext().getResponse, typeof __.response];
    request.setBody(body);
}
