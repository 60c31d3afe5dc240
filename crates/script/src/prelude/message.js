// The request and the response: named properties, some of which scripts may write.

const { Map, Number, Object, String } = globalThis;
const { ErrorCodes, NumberedError, define, fail, jsonOf, stringify, textOf } = core;
const { parse } = JSON;
const { isArray } = Array;

// Appending concatenates texts; the first value replaces a property that was never set.
function appended(old, value) {
    return old === undefined ? value : textOf(old) + textOf(value);
}

function checkSize(name, value, sizeMax) {
    // An error for a slightly excessive text contains its length; the text of a much larger value
    // is not made.
    const fits = native.fits(value, 2 * sizeMax) !== false;
    const length = fits ? stringify(value)?.length ?? 0 : 'too many';
    if (!fits || length > sizeMax) {
        fail(ErrorCodes.RequestEntityTooLarge,
            `The value of '${name}' has ${length} characters, which is more than the limit of `
            + `${sizeMax}. Return what has been done so far with a continuation token and let the `
            + 'caller continue from there.');
    }
}

class Message {
    #properties = new Map();

    // Headers have no accessors.
    constructor(headers, properties, sizeMax) {
        for (const [name, value] of headers) {
            this.#properties.set(name.toLowerCase(), { name, value });
        }
        for (const [name, value, writable] of properties) {
            const property = { name, value, writable, changed: false, sizeMax };
            this.#properties.set(name.toLowerCase(), property);
            define(this, `get${name}`, () => this.getValue(name));
            if (writable) {
                define(this, `set${name}`, (value) => this.setValue(name, value));
                define(this, `append${name}`, (value) => this.appendValue(name, value));
            }
        }
    }

    getValue(name) {
        return this.#properties.get(String(name).toLowerCase())?.value;
    }

    setValue(name, value) {
        const property = this.#writable(name);
        checkSize(property.name, value, property.sizeMax);
        property.value = value;
        property.changed = true;
    }

    appendValue(name, value) {
        this.setValue(name, appended(this.#writable(name).value, value));
    }

    #writable(name) {
        const property = this.#properties.get(String(name).toLowerCase());
        if (property === undefined) {
            fail(ErrorCodes.BadRequest, `Cannot set new values: ${name}`);
        }
        if (!property.writable) {
            fail(ErrorCodes.Forbidden, `Not a writable property: ${name}`);
        }
        return property;
    }

    // The JSON text of a property that the script has set; undefined if the script has not set it,
    // and false if it has grown beyond the limit since.
    static textOfChanged(message, name) {
        const property = message?.#properties.get(name);
        if (!property?.changed) {
            return undefined;
        }
        return native.fits(property.value, property.sizeMax) !== false && stringify(property.value);
    }
}
