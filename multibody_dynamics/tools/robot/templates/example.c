{# Copyright 2026 multibody_dynamics developers
   SPDX-License-Identifier: Apache-2.0 #}
/* Torques that hold the robot still in the middle of its joint ranges. */

#include "{{ name }}_dynamics.h"

#include <stdio.h>

static const char *const joints[{{ name | upper }}_JOINTS] = {
{% for joint in model.joint_names %}
    {{ c.string(joint) }}{{ "," if not loop.last }}
{% endfor %}
};

int main(void)
{
{% for argument in arguments %}
{% if argument.is_input and argument.name in start %}
    const {{ real }} {{ argument.name }}[{{ argument.entries }}] = {{ "{" }}{% for x in start[argument.name] %}{{ ", " if not loop.first }}{{ c.literal(x, real) }}{% endfor %}};
{% else %}
    {{ real }} {{ argument.name }}[{{ argument.entries }}] = {0};
{% endif %}
{% endfor %}
    int i;
    {{ function.name }}({{ arguments | map(attribute="name") | join(", ") }});
    for (i = 0; i < {{ name | upper }}_JOINTS; ++i) {
        printf("%-24s %12.6f\n", joints[i], (double)tau[i]);
    }
    return 0;
}
